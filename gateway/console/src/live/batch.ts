// Gathers stale keys so that a burst of events costs one round of reads: at once after a quiet time, else every `gap` ms.
import type { Key } from "./touched";

/** Milliseconds: the first event waits `lead` for its companions; rounds are at least `gap` apart. */
const LEAD = 25;
const GAP = 250;

export class Batch {
  private keys = new Map<string, Key>();
  private all = false;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private last = -Infinity;

  constructor(
    private readonly flush: (keys: Key[] | "all") => void,
    private readonly now: () => number = () => performance.now(),
  ) {}

  add(touched: Key[] | "all"): void {
    if (touched === "all") this.all = true;
    else for (const key of touched) this.keys.set(JSON.stringify(key), key);
    this.timer ??= setTimeout(this.fire, Math.max(LEAD, this.last + GAP - this.now()));
  }

  close(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  private readonly fire = (): void => {
    const touched = this.all ? "all" : [...this.keys.values()];
    this.keys.clear();
    this.all = false;
    this.timer = undefined;
    this.last = this.now();
    this.flush(touched);
  };
}
