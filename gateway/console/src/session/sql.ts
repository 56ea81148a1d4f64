// Which code blocks of an answer are SQL. Pure.
import { blocksOf } from "../markdown/parse";

const LANGUAGES = new Set(["sql", "postgresql", "postgres", "psql", "mysql", "sqlite", "plsql", "tsql"]);

export function isSql(language: string): boolean {
  return LANGUAGES.has(language.toLowerCase());
}

export function sqlBlocks(text: string): string[] {
  return blocksOf(text).flatMap((block) =>
    block.kind === "code" && isSql(block.language) ? [block.text] : [],
  );
}
