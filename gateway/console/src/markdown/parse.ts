// Markdown as blocks, by markdown-it's CommonMark with tables. Raw HTML has no meaning here, it is text; only addresses
// that open a page or a letter become links. A text that grows is not read again from its start. Pure.
import MarkdownIt, { type Env, type Token } from "markdown-it";
import { blocksIn, type Block } from "./tokens";

const markdown = new MarkdownIt({ html: false, linkify: false, typographer: false });
markdown.validateLink = (url) => /^(?:https?:\/\/|mailto:)/i.test(url);

interface Parsed {
  source: string;
  blocks: Block[];
  /** Where the last block begins: what is appended can change nothing before it. */
  lastAt: number;
  /** It has addresses of links apart from their words. */
  defines: boolean;
}

/** The last few texts, parsed: an answer that is drawn by several parts of a page is read once. */
const KEPT = 8;
const known = new Map<string, Parsed>();

export function blocksOf(source: string): Block[] {
  const found = known.get(source);
  if (found) return found.blocks;
  const before = [...known.values()].findLast((parsed) => source.startsWith(parsed.source));
  const parsed = (before && longer(before, source)) ?? whole(source);
  if (before) known.delete(before.source);
  else if (known.size >= KEPT) known.delete(known.keys().next().value ?? "");
  known.set(source, parsed);
  return parsed.blocks;
}

/** The whole text, read at once. */
export function whole(source: string): Parsed {
  const env: Env = {};
  const tokens = markdown.parse(source, env);
  const defines = Object.keys(env.references ?? {}).length > 0;
  return { source, blocks: blocksIn(tokens), lastAt: lastAt(source, tokens), defines };
}

/** A text that has grown: only its last block and what came since are read. Undefined: that will not do. */
function longer(before: Parsed, source: string): Parsed | undefined {
  if (before.blocks.length === 0 || before.defines || source.includes("\r")) return undefined;
  const tail = whole(source.slice(before.lastAt));
  // A link's address that is defined only now may stand for words of earlier blocks.
  if (tail.defines) return undefined;
  const blocks = [...before.blocks.slice(0, -1), ...tail.blocks];
  return { source, blocks, lastAt: before.lastAt + tail.lastAt, defines: false };
}

function lastAt(source: string, tokens: readonly Token[]): number {
  const last = tokens.findLast(({ level, nesting, map }) => level === 0 && nesting >= 0 && map);
  if (!last?.map) return 0;
  let at = 0;
  for (let line = 0; line < last.map[0]; line += 1) at = source.indexOf("\n", at) + 1;
  return at;
}

export type { Block, Span } from "./tokens";
