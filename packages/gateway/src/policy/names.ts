import type { Tool } from '../core/tool.ts';

/*
 * Which tools and skills policy texts name. There may be more tools of skills than a check could ever look at, so it
 * looks at those that always stand and at those that a text is about. The answer is read off the texts without Cedar,
 * which an unchanged set at a start does not need.
 */

/** The ids in `Tool::"…"` and `Skill::"…"`, wherever they stand in a policy. */
export type Named = { readonly tools: ReadonlySet<string>; readonly skills: ReadonlySet<string> };

/**
 * Gives the tools that always stand and, of those named, the ones that are there; each once, in one order. It is asked at
 * every look at the files, so it must be fast and give a tool that has not changed as the same record.
 */
export type ToolsOf = (named: Named) => readonly Tool[];

// As Cedar reads a text: strings and comments are passed over whole, and between words there may be comments too. What
// ends a comment is asked for, so that there is one way to read a gap and a text is looked at once.
const GAP = /(?:\s|\/\/[^\r\n]*(?=[\r\n]|$))*/.source;
const REFERENCE = new RegExp(
  [
    /"(?:[^"\\]|\\[\s\S])*(?:"|\\?$)/.source,
    /\/\/[^\r\n]*/.source,
    `(?<![\\w:])(Tool|Skill)${GAP}::${GAP}"((?:[^"\\\\]|\\\\[\\s\\S])*)"`,
  ].join('|'),
  'g',
);
const ESCAPED = /\\(?:u\{([0-9A-Fa-f]{1,6})\}|x([0-9A-Fa-f]{2}))/g;

/** Finds every name that Cedar would find in texts that it can parse; it may find more. */
export function namedIn(texts: readonly string[]): Named {
  const tools = new Set<string>();
  const skills = new Set<string>();
  for (const text of texts) {
    for (const [, type, id = ''] of text.matchAll(REFERENCE)) {
      if (type !== undefined) (type === 'Tool' ? tools : skills).add(unescaped(id));
    }
  }
  return { tools, skills };
}

function unescaped(id: string): string {
  return id.replace(ESCAPED, (whole, long?: string, short?: string) => {
    const code = Number.parseInt(long ?? short ?? '', 16);
    return code > 0x10ffff ? whole : String.fromCodePoint(code);
  });
}
