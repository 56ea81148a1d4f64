import { expect, it } from "vitest";
import { sqlBlocks } from "./sql";

it("finds fenced SQL, closed or still being written, and nothing else", () => {
  expect(sqlBlocks("a\n```sql\nSELECT 1\n```\n```py\nx\n```\n```PostgreSQL\nSELECT 2")).toEqual([
    "SELECT 1",
    "SELECT 2",
  ]);
  expect(sqlBlocks("`SELECT 1`")).toEqual([]);
});
