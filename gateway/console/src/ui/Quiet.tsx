// What stands where there is nothing (yet): empty states and skeletons.
import type { ReactNode } from "react";

export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="flex flex-col items-center gap-2 px-8 py-16 text-center">
      <p className="font-serif text-xl">{title}</p>
      {children ? <div className="max-w-sm text-sm text-muted">{children}</div> : null}
    </div>
  );
}

export function Skeleton({ lines }: { lines: number }) {
  return (
    <div role="status" aria-label="Loading" className="flex animate-pulse flex-col gap-5 p-4">
      {Array.from({ length: lines }, (_, index) => (
        <div key={index} className="flex flex-col gap-2">
          <div
            className={`h-3 rounded bg-line ${index % 3 === 0 ? "w-3/5" : index % 3 === 1 ? "w-4/5" : "w-2/5"}`}
          />
          <div className="h-2 w-1/3 rounded bg-sunk" />
        </div>
      ))}
    </div>
  );
}

/** A shuttle that runs while something is under way. */
export function Weaving() {
  return (
    <div aria-hidden className="h-0.5 overflow-hidden rounded bg-indigo-wash">
      <div className="weave h-full w-1/3 rounded bg-indigo" />
    </div>
  );
}
