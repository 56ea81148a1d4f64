// The final text of a turn: typeset, its SQL in a viewer. A single block stands where it was written; several are
// shown together below, and are named where they were.
import { memo, useMemo } from "react";
import { Markdown } from "../markdown/Markdown";
import { isSql, sqlBlocks } from "./sql";
import { SqlViewer } from "./SqlViewer";

export const FinalText = memo(function FinalText({ text }: { text: string }) {
  const sql = useMemo(() => sqlBlocks(text), [text]);
  const several = sql.length > 1;
  return (
    <div data-final-text className="flex min-w-0 flex-col gap-3">
      <Markdown
        text={text}
        code={(block) => {
          if (!isSql(block.language)) return undefined;
          if (!several) return <SqlViewer blocks={[block.text]} />;
          const number = sql.indexOf(block.text) + 1;
          return <p className="text-sm text-faint">SQL {number > 0 ? number : ""} (below)</p>;
        }}
      />
      {several ? <SqlViewer blocks={sql} /> : null}
    </div>
  );
});
