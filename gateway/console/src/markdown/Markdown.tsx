// Text of a model, typeset. Everything becomes React text: no HTML of its own passes.
import { Fragment, memo, type ReactNode } from "react";
import { visible } from "../text/visible";
import { blocksOf, type Block, type Span } from "./parse";

interface Props {
  text: string;
  /** Draws some code blocks differently; undefined leaves a block as it is. */
  code?: Code;
  /** Hundreds of blocks: what is out of sight is not laid out. */
  long?: boolean;
}

type Code = (block: { language: string; text: string }) => ReactNode | undefined;

export const Markdown = memo(function Markdown({ text, code, long = false }: Props) {
  return (
    <div
      className={`flex max-w-prose flex-col gap-3 text-base [overflow-wrap:anywhere] ${long ? "[&>*]:[contain-intrinsic-size:auto_4rem] [&>*]:[content-visibility:auto]" : ""}`}
    >
      <Blocks blocks={blocksOf(text)} code={code} />
    </div>
  );
});

function Blocks({ blocks, code }: { blocks: readonly Block[]; code: Code | undefined }) {
  return blocks.map((block, index) => <Part key={index} block={block} code={code} />);
}

/** A block that did not change is not drawn again. */
const Part = memo(function Part({ block, code }: { block: Block; code: Code | undefined }) {
  switch (block.kind) {
    case "heading": {
      const Heading = block.level === 1 ? "h3" : block.level === 2 ? "h4" : "h5";
      return (
        <Heading className={block.level < 3 ? "mt-1 font-serif text-lg font-medium" : "font-semibold"}>
          <Spans spans={block.spans} />
        </Heading>
      );
    }
    case "paragraph":
      return (
        <p className="whitespace-pre-line">
          <Spans spans={block.spans} />
        </p>
      );
    case "code":
      return (
        code?.(block) ?? (
          <pre className="overflow-x-auto rounded-md bg-sunk px-3 py-2 font-mono text-sm [overflow-wrap:normal]">
            {visible(block.text)}
          </pre>
        )
      );
    case "list": {
      const items = block.items.map((item, index) => (
        <li key={index} className="pl-1 [&>p+*]:mt-2">
          <Blocks blocks={item} code={code} />
        </li>
      ));
      return block.ordered ? (
        <ol start={block.start} className="flex list-decimal flex-col gap-1 pl-6">
          {items}
        </ol>
      ) : (
        <ul className="flex list-disc flex-col gap-1 pl-5">{items}</ul>
      );
    }
    case "quote":
      return (
        <blockquote className="flex flex-col gap-2 border-l-2 border-line-strong pl-3 text-muted">
          <Blocks blocks={block.blocks} code={code} />
        </blockquote>
      );
    case "table":
      return <Table block={block} />;
    case "rule":
      return <hr className="border-line" />;
  }
});

function Table({ block }: { block: Extract<Block, { kind: "table" }> }) {
  return (
    <div className="overflow-x-auto">
      <table className="border-collapse text-sm [overflow-wrap:normal]">
        <thead>
          <tr>
            {block.head.map((cell, index) => (
              <th key={index} className="border-b border-line-strong py-1 pr-4 text-left font-medium">
                <Spans spans={cell} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {block.rows.map((row, index) => (
            <tr key={index}>
              {row.map((cell, column) => (
                <td key={column} className="border-b border-line py-1 pr-4 align-top">
                  <Spans spans={cell} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Spans({ spans }: { spans: readonly Span[] }) {
  return spans.map((span, index) => {
    switch (span.kind) {
      case "text":
        return <Fragment key={index}>{visible(span.text)}</Fragment>;
      case "code":
        return (
          <code key={index} className="rounded bg-sunk px-1 font-mono text-sm">
            {visible(span.text)}
          </code>
        );
      case "strong":
        return (
          <strong key={index} className="font-semibold">
            <Spans spans={span.spans} />
          </strong>
        );
      case "em":
        return (
          <em key={index}>
            <Spans spans={span.spans} />
          </em>
        );
      case "del":
        return (
          <del key={index}>
            <Spans spans={span.spans} />
          </del>
        );
      case "link":
        return (
          <a
            key={index}
            href={span.href}
            title={span.href}
            target="_blank"
            rel="noreferrer noopener"
            className="text-indigo underline underline-offset-2"
          >
            <Spans spans={span.spans} />
          </a>
        );
    }
  });
}
