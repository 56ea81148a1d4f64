// The final text of a turn: typeset, its SQL in a viewer. A single block stands where it was written; several are
// shown together below, and are named where they were.
import { memo, useCallback, useDeferredValue, useMemo } from "react";
import { Markdown } from "../markdown/Markdown";
import { isSql, sqlBlocks } from "./sql";
import { SqlViewer } from "./SqlViewer";

export const FinalText = memo(function FinalText({ text: newest }: { text: string }) {
  // A long answer that still grows must not stand in the way of somebody who writes.
  const text = useDeferredValue(newest);
  const sql = useMemo(() => sqlBlocks(text), [text]);
  const several = sql.length > 1;
  const all = several ? sql.join("\u0000") : "";
  // The same function while the SQL is the same: then blocks that did not change are not drawn again.
  const code = useCallback(
    (block: { language: string; text: string }) => {
      if (!isSql(block.language)) return undefined;
      if (all === "") return <SqlViewer blocks={[block.text]} />;
      const number = all.split("\u0000").indexOf(block.text) + 1;
      return <p className="text-sm text-faint">SQL {number > 0 ? number : ""} (below)</p>;
    },
    [all],
  );
  return (
    <div data-final-text className="flex min-w-0 flex-col gap-3">
      <Markdown text={text} code={code} />
      {several ? <SqlViewer blocks={sql} /> : null}
    </div>
  );
});
