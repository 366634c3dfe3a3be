import { CALL_ATTRIBUTES, type CallAttribute } from './schema.ts';

/*
 * Which attributes of a call's context a policy set can read. Cedar parses the context anew at each decision, so what no
 * policy reads is not told. The answer is read off the texts and errs on one side only: a name that stands anywhere, be
 * it in a comment or a string, counts as read, and where names do not tell, everything does.
 */

/** The attributes that may be read; made once for each set. */
export type Reads = ReadonlySet<CallAttribute>;

export const EVERYTHING: Reads = new Set(CALL_ATTRIBUTES);

// As Cedar cuts identifiers out of a text: a digit in front ends a number and belongs to none.
const WORD = /[A-Za-z_]\w*/g;
// `.name`, `["name"]`, `has name`, `has "name"`; a method in the place of a name would take the record as a whole.
const ACCESS = /\s*\.\s*[A-Za-z_]\w*(?!\w|\s*\()|\s*\[\s*"[^"]*"\s*\]|\s+has\s*(?:"[^"]*"|\b[A-Za-z_])/y;

/** Tells what policies with these texts can read: never less than they do, for every text that Cedar can parse. */
export function readsOf(texts: readonly string[]): Reads {
  const words = new Set<string>();
  for (const text of texts) {
    // Boundary: an escape can spell a name without its letters.
    if (text.includes('\\')) return EVERYTHING;
    for (const { 0: word, index } of text.matchAll(WORD)) {
      // Boundary: `context == {…}` reads all there is and names nothing.
      if (word === 'context' && !isAccess(text, index + word.length)) return EVERYTHING;
      words.add(word);
    }
  }
  return new Set(CALL_ATTRIBUTES.filter((name) => words.has(name)));
}

/** What is read by any policy, and of calls of one tool by those that can be about it. */
export type ReadsByTool = { readonly all: Reads; readonly of: (toolId: string) => Reads };

// The head of a policy that is about one tool, in the one way it is usually written. Where a comment, an escape or anything
// else stands in it, it does not fit, and the policy counts for all tools.
const ANNOTATIONS = /(?:\s*@[A-Za-z_]\w*(?:\(\s*"[^"\\]*"\s*\))?)*/.source;
const SCOPE = /\(\s*principal(?:[^"()/]|"[^"\\]*")*,\s*resource\s*==\s*Tool\s*::\s*"([^"\\]*)"\s*\)/.source;
const OF_ONE_TOOL = new RegExp(`^${ANNOTATIONS}\\s*(?:permit|forbid)\\s*${SCOPE}`);

/** Tells it for each tool: a policy whose head names another tool is never evaluated for this one, and so reads nothing. */
export function readsByTool(texts: readonly string[]): ReadsByTool {
  const heads = texts.map((text) => ({ text, tool: OF_ONE_TOOL.exec(text)?.[1] ?? null }));
  const readBy = (toolId: string | null) =>
    readsOf(heads.filter(({ tool }) => tool === null || tool === toolId).map(({ text }) => text));
  const common = readBy(null);
  const named = new Map<string, Reads>();
  for (const { tool } of heads) if (tool !== null && !named.has(tool)) named.set(tool, readBy(tool));
  return { all: readsOf(texts), of: (toolId) => named.get(toolId) ?? common };
}

function isAccess(text: string, index: number): boolean {
  ACCESS.lastIndex = index;
  return ACCESS.test(text);
}
