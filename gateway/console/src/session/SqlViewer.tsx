// The fenced SQL of an answer. Side by side or one below the other: a switch that has a meaning for several only.
import { useState } from "react";
import { visible } from "../text/visible";
import { Button } from "../ui/Button";

type Layout = "vertical" | "horizontal";

export function SqlViewer({ blocks }: { blocks: readonly string[] }) {
  const [layout, setLayout] = useState<Layout>("vertical");
  const several = blocks.length > 1;
  return (
    <section
      aria-label="SQL"
      data-layout={several ? layout : undefined}
      className="flex min-w-0 flex-col gap-2"
    >
      {several ? (
        <div className="flex items-center gap-2">
          <h3 className="eyebrow">{blocks.length} SQL blocks</h3>
          <div role="group" aria-label="Layout" className="ml-auto flex">
            {(["vertical", "horizontal"] as const).map((choice) => (
              <Button
                key={choice}
                look="bare"
                aria-pressed={layout === choice}
                className="aria-pressed:bg-sunk aria-pressed:text-ink"
                onClick={() => {
                  setLayout(choice);
                }}
              >
                {choice === "vertical" ? "Vertical" : "Horizontal"}
              </Button>
            ))}
          </div>
        </div>
      ) : null}
      <div
        className={
          several && layout === "horizontal"
            ? "flex gap-3 overflow-x-auto pb-1"
            : "flex min-w-0 flex-col gap-3"
        }
      >
        {blocks.map((sql, index) => (
          <Sql
            key={index}
            sql={sql}
            label={several ? `SQL ${index + 1}` : "SQL"}
            className={layout === "horizontal" && several ? "w-80 max-w-full shrink-0 grow" : ""}
          />
        ))}
      </div>
    </section>
  );
}

function Sql({ sql, label, className }: { sql: string; label: string; className: string }) {
  const [copied, setCopied] = useState(false);
  const copy = (): void => {
    void navigator.clipboard.writeText(sql).then(() => {
      setCopied(true);
    });
  };
  return (
    <figure className={`min-w-0 rounded-md border border-line bg-raised ${className}`}>
      <figcaption className="flex items-center justify-between border-b border-line pl-3 text-xs text-faint">
        {label}
        {"clipboard" in navigator ? (
          <Button look="bare" onClick={copy}>
            {copied ? "Copied" : "Copy"}
          </Button>
        ) : null}
      </figcaption>
      <pre tabIndex={0} aria-label={label} className="overflow-x-auto px-3 py-2 font-mono text-sm">
        {visible(sql)}
      </pre>
    </figure>
  );
}
