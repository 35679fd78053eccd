/**
 * @file Common English words of five letters: our own list, for want of a better one by option.
 */

export const WORDS: readonly string[] = `
about above acorn actor adapt admit adult after again agent agree ahead alarm album alert alike
alive allow alone along aloud alter amber amuse angel anger angle angry ankle apart apple apron
arena argue arise armor aroma arrow aside asset attic audio avoid awake award aware awful bacon
badge baker basic basil basin batch beach beard beast begin being belly below bench berry birth
black blade blame blank blast blaze blend bless blind blink block bloom blush board boast bonus
boost booth bound brain brake brave bread break brick bride brief bring brisk broad broom brown
brush build bunch burst buyer cabin cable camel canal candy canoe cargo carry carve catch cause
cedar chain chair chalk charm chart chase cheap check cheek cheer chess chest chief child chili
choir chord civic civil claim class clean clear clerk click cliff climb clock close cloth cloud
clown coach coast cobra color comet comic coral couch cough count court cover crack craft crane
crash crawl cream creek crest crime crisp cross crowd crown cruel crush crust curve cycle daily
dairy daisy dance dealt debut decay delay dense depth diary digit diner ditch diver dizzy dodge
dough draft drain drama dream dress drift drill drink drive eager eagle early earth easel eight
elbow elder elect empty enemy enjoy enter entry equal error essay event every exact exist extra
fable faint fairy faith false fancy feast fence ferry fetch fever fiber field fifth fight final
first flame flash fleet flesh float flock flood floor flour fluid flute focus force forge forty
found frame fresh frost fruit funny ghost giant glass globe glory glove going grace grade grain
grand grant grape graph grasp grass grave great green greet grill group grove guard guess guest
guide habit happy harsh haste hatch heart heavy hedge hello hinge hobby honey honor horse hotel
house human humor hurry ideal image index inner input issue ivory jelly jewel joint jolly judge
juice jumbo kneel knife knock known label labor ladle large laser later laugh layer learn lease
least leave ledge lemon level lever light limit linen liver local lodge logic loose lucky lunar
lunch magic major maker mango maple march marry match maybe mayor medal melon mercy merge merit
merry metal meter midst might minor mixer model moist money month moral motor mount mouse mouth
movie music nasty naval nerve never night ninth noble noise north novel nurse oasis ocean offer
often olive onion opera orbit order organ other ought outer owner paint panel panic paper party
pasta paste patch pause peace peach pearl pedal penny phase phone photo piano piece pilot pinch
pitch pizza place plain plane plant plate plaza point polar porch pound power press price pride
prime print prize proof proud prune pupil purse quack quart queen query quest quick quiet quilt
quite quota quote radar radio rainy raise rally ranch range rapid raven reach ready realm refer
relax reply rider ridge rifle right rinse rival river roast robin robot rocky rough round route
royal ruler rural salad sauce scale scarf scene scent scold scoop score scout scrap screw serve
seven shade shake shape share shark sharp sheep sheet shelf shell shine shiny shirt shock shoot
shore short shout shown sight silky silly since siren sixth skate skill skirt slate sleep slice
slide slope small smart smell smile smoke snack snake sneak solar solid solve sorry sound south
space spare spark speak spear speed spell spend spice spike spoke spoon sport spray squad stack
staff stage stain stair stamp stand start state steak steam steel steep stick still stone stool
storm story stove straw strip study stuff style sugar sunny swamp sweep sweet swift swing sword
table taste teach thank theme thick thing think third thorn three throw thumb tiger tight timer
title toast today token tooth topic torch total touch tower trace track trade trail train treat
trend trial tribe trick truck truly trunk trust truth tulip twice twist uncle under union unity
until upper upset urban usual valid value vapor vault verse video visit vital vivid vocal voice
voter wagon waist waste watch water weary weigh whale wheat wheel where which while whole width
windy witch woman world worry worth wound wrist write wrong yacht yeast yield young youth zebra
`
  .trim()
  .split(/\s+/);
