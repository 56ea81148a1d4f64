import { expect, it } from "vitest";
import { blocksOf, whole, type Span } from "./parse";

const text = (value: string) => ({ kind: "text", text: value });

function spansOf(source: string): Span[] {
  const [block] = blocksOf(source);
  return block?.kind === "paragraph" ? block.spans : [];
}

it("reads the blocks that models write", () => {
  const kinds = blocksOf(
    "# A\n\ntext\nmore\n- one\n- two\n  - deep\n1. first\n\n> said\n\n---\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n~~~\nx\n~~~",
  ).map(({ kind }) => kind);
  expect(kinds).toEqual(["heading", "paragraph", "list", "list", "quote", "rule", "table", "code"]);
});

it("nests lists, and keeps what is indented with its item", () => {
  const [list] = blocksOf("- a\n  - b\n\n  more of a\n- c");
  expect(list).toMatchObject({
    kind: "list",
    items: [[{ kind: "paragraph" }, { kind: "list" }, { kind: "paragraph" }], [{ kind: "paragraph" }]],
  });
});

it("takes a fence that is still open to the end", () => {
  expect(blocksOf("```sql\nSELECT 1\n\nFROM x")).toEqual([
    { kind: "code", language: "sql", text: "SELECT 1\n\nFROM x" },
  ]);
});

it("reads a table with its cells", () => {
  expect(blocksOf("| a | `b` |\n|---|---|\n| 1 \\| 2 |  |")).toEqual([
    {
      kind: "table",
      head: [[text("a")], [{ kind: "code", text: "b" }]],
      rows: [[[text("1 | 2")], []]],
    },
  ]);
});

it("gives raw HTML no meaning", () => {
  expect(blocksOf("<img src=x onerror=alert(1)>")).toEqual([
    { kind: "paragraph", spans: [text("<img src=x onerror=alert(1)>")] },
  ]);
});

it.each([
  ["[a](https://x.example/y)", [{ kind: "link", href: "https://x.example/y", spans: [text("a")] }]],
  [
    "<https://x.example/>",
    [{ kind: "link", href: "https://x.example/", spans: [text("https://x.example/")] }],
  ],
  [
    "![a cat](https://x.example/cat.png)",
    [{ kind: "link", href: "https://x.example/cat.png", spans: [text("a cat")] }],
  ],
  ["https://x.example/ alone", [text("https://x.example/ alone")]],
  ["[a](javascript:alert)", [text("[a](javascript:alert)")]],
  ["[a](JaVaScRiPt:alert(1))", [text("[a](JaVaScRiPt:alert(1))")]],
  ["[a](&#106;avascript:alert(1))", [text("[a](javascript:alert(1))")]],
  ["[a](data:text/html,x)", [text("[a](data:text/html,x)")]],
  ["[a](//x.example)", [text("[a](//x.example)")]],
  ["~~gone~~", [{ kind: "del", spans: [text("gone")] }]],
  [
    "**b** `c` *d*",
    [
      { kind: "strong", spans: [text("b")] },
      text(" "),
      { kind: "code", text: "c" },
      text(" "),
      { kind: "em", spans: [text("d")] },
    ],
  ],
  ["snake_case_name and 2 * 3 * 4", [text("snake_case_name and 2 * 3 * 4")]],
])("spans of %s", (source, spans) => {
  expect(spansOf(source)).toEqual(spans);
});

it.each(["`", "*", "[", "**", "> ", "- ", "|-", "```", "[](", "_a", "~~", "<a "])(
  "ends in good time on 20,000 %j",
  (piece) => {
    const started = Date.now();
    blocksOf(piece.repeat(20_000));
    expect(Date.now() - started).toBeLessThan(2_000);
  },
);

const GROWING = [
  "# Title\n\nPara with **bold\nand more** text.\n\n- one\n- two\n\n  still two\n    - deep\n\n1. first\n2. second\n",
  "Title\n=====\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nlast",
  "```sql\nSELECT 1\n\n# no heading\n```\n\nafter\n\n> quote\nlazy\n\n> again",
  "see [x] and\n\n[y]\n\n[x]: https://x.example/\n\n[x] again\n\n[y]: https://y.example/\n",
  "dos\r\n\r\nline ends\r\n\r\n- a\r\n- b",
  "    indented\n\n    code\n\ntext\n***\n~~~\nopen",
];

it.each(GROWING)("reads a text that grows as it reads the whole: %j", (text) => {
  for (let end = 1; end <= text.length; end += 1) {
    const part = text.slice(0, end);
    expect(blocksOf(part)).toEqual(whole(part).blocks);
  }
});

it("keeps the blocks that did not change", () => {
  const before = blocksOf("kept\n\nlast");
  const after = blocksOf("kept\n\nlast one\n\nnew");
  expect(after[0]).toBe(before[0]);
  expect(after).toHaveLength(3);
});
