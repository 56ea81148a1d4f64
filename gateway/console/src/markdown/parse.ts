// Markdown as blocks and spans: the part that models write. Raw HTML has no meaning here, it is text. Pure.

export type Span =
  | { kind: "text" | "code"; text: string }
  | { kind: "strong" | "em"; spans: Span[] }
  | { kind: "link"; href: string; spans: Span[] };

export type Block =
  | { kind: "heading"; level: number; spans: Span[] }
  | { kind: "paragraph"; spans: Span[] }
  | { kind: "code"; language: string; text: string }
  | { kind: "list"; ordered: boolean; start: number; items: Block[][] }
  | { kind: "quote"; blocks: Block[] }
  | { kind: "table"; head: Span[][]; rows: Span[][][] }
  | { kind: "rule" };

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([^\s`]*)[^`]*$/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/;
const ITEM = /^( {0,3})([-*+]|(\d{1,9})[.)])( +)(.*)$/;
const RULE = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
const QUOTE = /^ {0,3}> ?(.*)$/;
const TABLE_LINE = /^\s*\|?(?:\s*:?-+:?\s*\|)+\s*:?-*:?\s*$/;
/** Deeper nesting than this is text: nobody reads it, and it must not cost a stack. */
const DEEPEST = 8;

export function blocksOf(source: string, depth = 0): Block[] {
  const lines = source.replace(/\r\n?/g, "\n").split("\n");
  const blocks: Block[] = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at] ?? "";
    const fence = FENCE.exec(line);
    const heading = HEADING.exec(line);
    const item = ITEM.exec(line);
    if (line.trim() === "") {
      at += 1;
    } else if (fence?.[1] !== undefined) {
      const end = closing(lines, at + 1, fence[1]);
      blocks.push({ kind: "code", language: fence[2] ?? "", text: lines.slice(at + 1, end).join("\n") });
      at = end + 1;
    } else if (heading) {
      blocks.push({ kind: "heading", level: heading[1]?.length ?? 1, spans: spansOf(heading[2] ?? "") });
      at += 1;
    } else if (RULE.test(line)) {
      blocks.push({ kind: "rule" });
      at += 1;
    } else if (QUOTE.test(line) && depth < DEEPEST) {
      const from = at;
      while (at < lines.length && QUOTE.test(lines[at] ?? "")) at += 1;
      const inner = lines.slice(from, at).map((quoted) => QUOTE.exec(quoted)?.[1] ?? "");
      blocks.push({ kind: "quote", blocks: blocksOf(inner.join("\n"), depth + 1) });
    } else if (item && depth < DEEPEST) {
      at = list(lines, at, depth, blocks);
    } else if (line.includes("|") && TABLE_LINE.test(lines[at + 1] ?? "")) {
      const from = at;
      at += 2;
      while (at < lines.length && (lines[at] ?? "").includes("|")) at += 1;
      blocks.push({ kind: "table", head: cells(line), rows: lines.slice(from + 2, at).map(cells) });
    } else {
      const from = at;
      at += 1;
      while (at < lines.length && !interrupts(lines[at] ?? "")) at += 1;
      blocks.push({ kind: "paragraph", spans: spansOf(lines.slice(from, at).join("\n")) });
    }
  }
  return blocks;
}

function closing(lines: readonly string[], from: number, fence: string): number {
  for (let at = from; at < lines.length; at += 1) {
    const line = (lines[at] ?? "").trim();
    if (line.startsWith(fence) && line.replaceAll(fence.charAt(0), "") === "") return at;
  }
  return lines.length;
}

function interrupts(line: string): boolean {
  return line.trim() === "" || [FENCE, HEADING, ITEM, RULE, QUOTE].some((pattern) => pattern.test(line));
}

/** Reads a list from `at` on; answers the line after it. What is indented under an item belongs to it. */
function list(lines: readonly string[], from: number, depth: number, blocks: Block[]): number {
  const first = ITEM.exec(lines[from] ?? "");
  const ordered = first?.[3] !== undefined;
  const items: string[][] = [];
  let indent = 0;
  let at = from;
  for (; at < lines.length; at += 1) {
    const line = lines[at] ?? "";
    const item = ITEM.exec(line);
    const inside = line.length - line.trimStart().length >= indent && indent > 0;
    if (item && !(inside && items.length > 0)) {
      if ((item[3] !== undefined) !== ordered || RULE.test(line)) break;
      indent = (item[1]?.length ?? 0) + (item[2]?.length ?? 0) + Math.min(item[4]?.length ?? 1, 4);
      items.push([item[5] ?? ""]);
    } else if (line.trim() === "") {
      if (!belongs(lines[at + 1], indent, ordered)) break;
      items.at(-1)?.push("");
    } else if (inside) {
      items.at(-1)?.push(line.slice(indent));
    } else if (interrupts(line) || (lines[at - 1] ?? "").trim() === "") {
      break;
    } else {
      items.at(-1)?.push(line.trim());
    }
  }
  blocks.push({
    kind: "list",
    ordered,
    start: Number(first?.[3] ?? 1),
    items: items.map((item) => blocksOf(item.join("\n"), depth + 1)),
  });
  return at;
}

function belongs(line: string | undefined, indent: number, ordered: boolean): boolean {
  if (line === undefined || line.trim() === "") return false;
  const item = ITEM.exec(line);
  if (item) return (item[3] !== undefined) === ordered || line.length - line.trimStart().length >= indent;
  return line.length - line.trimStart().length >= indent;
}

function cells(line: string): Span[][] {
  const inner = line
    .trim()
    .replace(/^\|/, "")
    .replace(/(?<!\\)\|$/, "");
  return inner.split(/(?<!\\)\|/).map((cell) => spansOf(cell.trim().replaceAll("\\|", "|")));
}

const INLINE =
  /(?<code>(?<ticks>`+)(?<inner>[^`]|[^`][\s\S]*?[^`])\k<ticks>(?!`))|\[(?<label>[^[\]\n]{1,500})\]\((?<href>[^()\s]{1,2000})\)|\*\*(?<strong>\S|\S[^\n]{0,2000}?\S)\*\*|(?<![\w*])[*_](?<em>[^\s*_]|[^\s*_][^\n*_]{0,2000}?[^\s*_])[*_](?![\w*])/;

/** Code, links, strong, emphasis; what is none of it is text. */
export function spansOf(source: string, depth = 0): Span[] {
  const spans: Span[] = [];
  let rest = source;
  while (rest !== "") {
    const match = depth < DEEPEST ? INLINE.exec(rest) : null;
    if (!match) break;
    if (match.index > 0) spans.push({ kind: "text", text: rest.slice(0, match.index) });
    const found = match.groups ?? {};
    const { inner, label, strong, em } = found;
    const target = safe(found["href"]);
    if (inner !== undefined) spans.push({ kind: "code", text: inner });
    else if (label !== undefined && target !== undefined)
      spans.push({ kind: "link", href: target, spans: spansOf(label, depth + 1) });
    else if (strong !== undefined) spans.push({ kind: "strong", spans: spansOf(strong, depth + 1) });
    else if (em !== undefined) spans.push({ kind: "em", spans: spansOf(em, depth + 1) });
    else spans.push({ kind: "text", text: match[0] });
    rest = rest.slice(match.index + match[0].length);
  }
  if (rest !== "") spans.push({ kind: "text", text: rest });
  return spans;
}

/** Only addresses that open a page or a letter; nothing that runs. */
function safe(href: string | undefined): string | undefined {
  return href !== undefined && /^(?:https?:\/\/|mailto:)/i.test(href) ? href : undefined;
}
