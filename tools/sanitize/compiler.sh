#!/bin/sh
# The compiler with sanitizers, for set-up's CXX, which takes a name without options. It says so in its version, so that
# nothing that was built without them is taken for its work.
unset LD_PRELOAD
if [ "$1" = "--version" ]; then
  echo "sanitizing $(g++ --version | head -n 1)"
  exit 0
fi
exec g++ "$@" -O1 -g1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize=vptr -fno-sanitize-recover=undefined
