/**
 * @file The Mersenne twister MT19937 in plain JavaScript, after Matsumoto and Nishimura's mt19937ar.c.
 */
const N = 624;
const M = 397;

export class MersenneTwister {
  private readonly state = new Uint32Array(N);
  private place = N;

  /** init_genrand. */
  constructor(seed: number) {
    this.state[0] = seed;
    for (let i = 1; i < N; i++) this.state[i] = Math.imul(1812433253, this.mixed(i)) + i;
  }

  /** init_by_array. */
  static byKeys(keys: readonly number[]): MersenneTwister {
    const made = new MersenneTwister(19650218);
    const { state } = made;
    let i = 1;
    const advance = () => {
      if (++i < N) return;
      state[0] = state[N - 1]!;
      i = 1;
    };
    for (let k = 0; k < Math.max(N, keys.length); k++) {
      const j = k % keys.length;
      state[i] = (state[i]! ^ Math.imul(made.mixed(i), 1664525)) + keys[j]! + j;
      advance();
    }
    for (let k = 0; k < N - 1; k++) {
      state[i] = (state[i]! ^ Math.imul(made.mixed(i), 1566083941)) - i;
      advance();
    }
    state[0] = 0x80000000;
    return made;
  }

  private mixed(i: number): number {
    return this.state[i - 1]! ^ (this.state[i - 1]! >>> 30);
  }

  /** genrand_int32: 32 random bits. */
  next(): number {
    if (this.place === N) this.renew();
    let y = this.state[this.place++]!;
    y ^= y >>> 11;
    y ^= (y << 7) & 0x9d2c5680;
    y ^= (y << 15) & 0xefc60000;
    y ^= y >>> 18;
    return y >>> 0;
  }

  private renew(): void {
    const { state } = this;
    for (let i = 0; i < N; i++) {
      const y = (state[i]! & 0x80000000) | (state[(i + 1) % N]! & 0x7fffffff);
      state[i] = state[(i + M) % N]! ^ (y >>> 1) ^ (y & 1 ? 0x9908b0df : 0);
    }
    this.place = 0;
  }
}
