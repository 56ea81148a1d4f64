// From markdown-it's flat list of tokens to blocks and spans. Pure.
import type { Token } from "markdown-it";

export type Span =
  | { kind: "text" | "code"; text: string }
  | { kind: "strong" | "em" | "del"; spans: Span[] }
  | { kind: "link"; href: string; spans: Span[] };

export type Block =
  | { kind: "heading"; level: number; spans: Span[] }
  | { kind: "paragraph"; spans: Span[] }
  | { kind: "code"; language: string; text: string }
  | { kind: "list"; ordered: boolean; start: number; items: Block[][] }
  | { kind: "quote"; blocks: Block[] }
  | { kind: "table"; head: Span[][]; rows: Span[][][] }
  | { kind: "rule" };

export function blocksIn(tokens: readonly Token[]): Block[] {
  return new Reader(tokens).blocks();
}

/** Walks the flat list of tokens: an opening one stands for all up to its closing one. */
class Reader {
  private at = 0;

  constructor(private readonly tokens: readonly Token[]) {}

  /** Blocks up to the token of type `end`, which is passed. */
  blocks(end = ""): Block[] {
    const blocks: Block[] = [];
    for (let token = this.next(); token && token.type !== end; token = this.next()) {
      const block = this.block(token);
      if (block) blocks.push(block);
    }
    return blocks;
  }

  private next(): Token | undefined {
    const token = this.tokens[this.at];
    this.at += 1;
    return token;
  }

  private block(token: Token): Block | undefined {
    switch (token.type) {
      case "heading_open": {
        const spans = this.inline("heading_close");
        return { kind: "heading", level: Number(token.tag.slice(1)), spans };
      }
      case "paragraph_open":
        return { kind: "paragraph", spans: this.inline("paragraph_close") };
      case "fence":
      case "code_block": {
        const language = token.info.trim().split(/\s+/)[0] ?? "";
        return { kind: "code", language, text: token.content.replace(/\n$/, "") };
      }
      case "bullet_list_open":
        return { kind: "list", ordered: false, start: 1, items: this.items("bullet_list_close") };
      case "ordered_list_open": {
        const start = Number(token.attrGet("start") ?? 1);
        return { kind: "list", ordered: true, start, items: this.items("ordered_list_close") };
      }
      case "blockquote_open":
        return { kind: "quote", blocks: this.blocks("blockquote_close") };
      case "table_open":
        return this.table();
      case "hr":
        return { kind: "rule" };
      default:
        return undefined;
    }
  }

  private items(end: string): Block[][] {
    const items: Block[][] = [];
    for (let token = this.next(); token && token.type !== end; token = this.next()) {
      if (token.type === "list_item_open") items.push(this.blocks("list_item_close"));
    }
    return items;
  }

  private table(): Block {
    const rows: Span[][][] = [];
    for (let token = this.next(); token && token.type !== "table_close"; token = this.next()) {
      if (token.type === "tr_open") rows.push([]);
      else if (token.type === "inline") rows.at(-1)?.push(spansIn(token.children ?? []));
    }
    return { kind: "table", head: rows[0] ?? [], rows: rows.slice(1) };
  }

  private inline(end: string): Span[] {
    const spans: Span[] = [];
    for (let token = this.next(); token && token.type !== end; token = this.next()) {
      if (token.type === "inline") spans.push(...spansIn(token.children ?? []));
    }
    return spans;
  }
}

function spansIn(tokens: readonly Token[]): Span[] {
  const open: Span[][] = [[]];
  const links: string[] = [];
  const add = (span: Span): void => {
    const spans = open.at(-1);
    const last = spans?.at(-1);
    if (span.kind === "text" && last?.kind === "text") last.text += span.text;
    else spans?.push(span);
  };
  for (const token of tokens) {
    switch (token.type) {
      case "strong_open":
      case "em_open":
      case "s_open":
        open.push([]);
        break;
      case "link_open":
        open.push([]);
        links.push(String(token.attrGet("href") ?? ""));
        break;
      case "strong_close":
      case "em_close":
      case "s_close": {
        const kind = token.type === "strong_close" ? "strong" : token.type === "em_close" ? "em" : "del";
        const spans = open.pop() ?? [];
        add({ kind, spans });
        break;
      }
      case "link_close": {
        const spans = open.pop() ?? [];
        add({ kind: "link", href: links.pop() ?? "", spans });
        break;
      }
      case "code_inline":
        add({ kind: "code", text: token.content });
        break;
      case "softbreak":
      case "hardbreak":
        add({ kind: "text", text: "\n" });
        break;
      case "image":
        // Nothing is fetched from elsewhere: a picture is a link to itself.
        add({ kind: "link", href: String(token.attrGet("src") ?? ""), spans: spansIn(token.children ?? []) });
        break;
      default:
        if (token.content !== "") add({ kind: "text", text: token.content });
    }
  }
  return open[0] ?? [];
}
