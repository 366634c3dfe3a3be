// Two tools in one component: `words`, which only computes, and `visit`, which keeps a count in storage.
import { handle } from 'palisade:skill/capabilities@1.0.0';
import { get, put } from 'palisade:skill/storage@1.0.0';

const TOOLS = { words, visit };
const MOST_TRIES = 100;
/** White space as Unicode has it; the engine of components has no tables for \p{White_Space}. */
const SPACE = /[\t\n\v\f\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/;

export function run(tool, input) {
  if (!Object.hasOwn(TOOLS, tool)) throw failure('no-tool', 'there is no such tool');
  return JSON.stringify(TOOLS[tool](JSON.parse(input)));
}

/** {"text":"…"} → {"longest":"…","words":n}: how many words a text has, and the first of its longest. */
function words(input) {
  const text = onlyText(input, 'text');
  if (text === null) throw failure('wrong-input', 'expected an object with a text and nothing else');
  const all = text.split(SPACE).filter((word) => word !== '');
  let [longest, most] = ['', 0];
  for (const word of all) {
    const size = sizeOf(word);
    if (size > most) [longest, most] = [word, size];
  }
  return { longest, words: all.length };
}

/** In characters: of a pair only the first half is counted. */
function sizeOf(word) {
  return word.length - (word.match(/[\udc00-\udfff]/g)?.length ?? 0);
}

/** {"page":"home"} → {"page":"home","visits":n}: one visit more, whoever else counts at the same time. */
function visit(input) {
  const page = onlyText(input, 'page');
  if (page === null || !/^[a-z0-9-]{1,64}$/.test(page))
    throw failure('wrong-input', 'expected an object with a page: 1 to 64 small letters, digits and dashes');
  const storage = handle('storage', 0);
  const key = `visits/${page}`;
  for (let left = MOST_TRIES; left > 0; left -= 1) {
    const stored = errorOf(() => get(storage, key));
    if (stored.error !== null && stored.error !== 'missing')
      throw failure('no-storage', 'the visits cannot be read');
    const visits = stored.error === null ? countOf(stored.value.value) + 1 : 1;
    const condition =
      stored.error === null ? { tag: 'version', val: stored.value.version } : { tag: 'absent' };
    const { error } = errorOf(() => put(storage, key, new TextEncoder().encode(String(visits)), condition));
    if (error === null) return { page, visits };
    // Another call was faster: read again what it has written.
    if (error !== 'conflict') throw failure('no-storage', 'the visit cannot be written');
  }
  throw failure('busy', 'too many others count at the same time');
}

function countOf(bytes) {
  const digits = new TextDecoder().decode(bytes);
  if (!/^[0-9]{1,9}$/.test(digits)) throw failure('no-count', 'what is stored is no count');
  return Number(digits);
}

/** The text under the only key of an object; null where it is none. */
function onlyText(input, key) {
  const isObject = typeof input === 'object' && input !== null && !Array.isArray(input);
  if (!isObject || Object.keys(input).length !== 1) return null;
  return typeof input[key] === 'string' ? input[key] : null;
}

/** What a function of the gateway gave, or the error that it threw: `denied`, `missing`, `conflict` and others. */
function errorOf(ask) {
  try {
    return { error: null, value: ask() };
  } catch (thrown) {
    if (thrown?.payload === undefined) throw thrown;
    return { error: thrown.payload, value: null };
  }
}

/** What `run` throws to say that the tool failed. */
function failure(code, message) {
  return { code, message };
}
