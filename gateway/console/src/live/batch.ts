// Gathers stale keys so that a burst of events costs one round of reads: at once after a quiet time, else every `gap` ms.
// While a first visit is told all that is stored (catchUp), a round waits until the telling pauses.
import type { Key } from "./touched";

/** Milliseconds: the first event waits `lead` for its companions; rounds are at least `gap` apart. */
const LEAD = 25;
const GAP = 250;
/** Catching up ends after this silence; until then a round comes at most this often. */
const SILENCE = 200;
const CATCH_UP_GAP = 3_000;

export class Batch {
  private keys = new Map<string, Key>();
  private all = false;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private last = -Infinity;
  private catchingUp = false;

  constructor(
    private readonly flush: (keys: Key[] | "all") => void,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** What follows is old and comes at once: no need to read after each handful of it. */
  catchUp(): void {
    this.catchingUp = true;
    this.last = this.now();
  }

  add(touched: Key[] | "all"): void {
    if (touched === "all") this.all = true;
    else for (const key of touched) this.keys.set(JSON.stringify(key), key);
    if (this.catchingUp) {
      clearTimeout(this.timer);
      const due = Math.min(SILENCE, Math.max(0, this.last + CATCH_UP_GAP - this.now()));
      this.timer = setTimeout(this.fire, due, due === SILENCE);
    } else {
      this.timer ??= setTimeout(this.fire, Math.max(LEAD, this.last + GAP - this.now()));
    }
  }

  close(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  private readonly fire = (silent = false): void => {
    const touched = this.all ? "all" : [...this.keys.values()];
    if (silent) this.catchingUp = false;
    this.keys.clear();
    this.all = false;
    this.timer = undefined;
    this.last = this.now();
    this.flush(touched);
  };
}
