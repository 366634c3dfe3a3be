import type { Language } from '../compilers.table.ts';
import { GO, GO_LIBRARY, GO_MODULE } from './go.table.ts';
import { PYTHON } from './python.table.ts';

/** What a new skill has in each language: its source, and what else of it differs. */

type LanguageTemplate = Readonly<Record<'name' | 'source' | 'text', string>> & {
  /** Files beside its source. */
  readonly more: Readonly<Record<string, string>>;
  /** Copies of files of @palisade/guest, by the paths that they have in the skill. */
  readonly copies?: Readonly<Record<string, string>>;
};

export const MODULE = 'skill.wasm';

const ASSEMBLYSCRIPT = `/* Two tools that only compute. An export is a tool: it gets its input as JSON and gives its output as JSON. */
import { asText, fail, Json, run } from '@palisade/guest/assembly';

export { palisade_alloc } from '@palisade/guest/assembly';

/** {"text":"…"} → {"characters":n,"lines":n,"words":n} */
export function count(place: usize, length: usize): u64 {
  return run(place, length, (input: Json): Json => {
    const text = asText(input.get('text'));
    if (text === null) return fail('wrong-input', 'expected an object with a text');
    return counted(text);
  });
}

/** {"text":"Hello, World!"} → {"slug":"hello-world"} */
export function slug(place: usize, length: usize): u64 {
  return run(place, length, (input: Json): Json => {
    const text = asText(input.get('text'));
    if (text === null) return fail('wrong-input', 'expected an object with a text');
    const short = shortened(text);
    if (short.length === 0) return fail('no-name', 'expected a text with a letter or a digit of ASCII');
    return Json.object().setText('slug', short);
  });
}

function counted(text: string): Json {
  let characters = 0;
  let lines = text.length > 0 ? 1 : 0;
  let words = 0;
  let isInWord = false;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    // The second half of a pair counts with the first.
    if (unit >> 10 !== 0x37) characters += 1;
    if (unit === 0x0a) lines += 1;
    const isSpace = unit === 0x20 || (unit >= 0x09 && unit <= 0x0d);
    if (!isSpace && !isInWord) words += 1;
    isInWord = !isSpace;
  }
  return Json.object().setNumber('characters', characters).setNumber('lines', lines).setNumber('words', words);
}

function shortened(text: string): string {
  const small = text.toLowerCase();
  const parts: string[] = [];
  let from = 0;
  for (let at = 0; at <= small.length; at += 1) {
    if (at < small.length && isPlain(small.charCodeAt(at))) continue;
    if (at > from) parts.push(small.slice(from, at));
    from = at + 1;
  }
  return parts.join('-');
}

function isPlain(unit: i32): bool {
  return (unit >= 0x61 && unit <= 0x7a) || (unit >= 0x30 && unit <= 0x39);
}
`;

const C = `/* Two tools that only compute. PALISADE_TOOL exports a function that has its \`input\` as JSON and gives JSON. */
#include <palisade.h>

static palisade_bytes wrong_input(void) {
  return palisade_fail(palisade_text("wrong-input"), palisade_text("expected an object with a text"));
}

/** {"text":"…"} → {"characters":n,"lines":n,"words":n} */
PALISADE_TOOL(count) {
  const palisade_json *member = palisade_get(input, palisade_text("text"));
  if (!palisade_is(member, PALISADE_TEXT)) return wrong_input();
  const palisade_bytes text = member->text;

  uint32_t characters = 0, lines = text.length > 0 ? 1 : 0, words = 0;
  bool is_in_word = false;
  for (uint32_t at = 0; at < text.length; at++) {
    const uint8_t byte = text.at[at];
    // The first byte of a character; those behind it begin with the bits 10.
    if (byte >> 6 != 2) characters++;
    if (byte == '\\n') lines++;
    const bool is_space = byte == ' ' || (byte >= '\\t' && byte <= '\\r');
    if (!is_space && !is_in_word) words++;
    is_in_word = !is_space;
  }

  palisade_writer output = palisade_write();
  palisade_open(&output, '{');
  palisade_put_int_member(&output, "characters", characters);
  palisade_put_int_member(&output, "lines", lines);
  palisade_put_int_member(&output, "words", words);
  palisade_close(&output, '}');
  return palisade_written(&output);
}

/** {"text":"Hello, World!"} → {"slug":"hello-world"} */
PALISADE_TOOL(slug) {
  const palisade_json *member = palisade_get(input, palisade_text("text"));
  if (!palisade_is(member, PALISADE_TEXT)) return wrong_input();
  const palisade_bytes text = member->text;

  uint8_t *const room = palisade_alloc(text.length);
  uint32_t length = 0;
  bool is_between = false;
  for (uint32_t at = 0; at < text.length; at++) {
    const uint8_t byte = text.at[at];
    const uint8_t small = byte >= 'A' && byte <= 'Z' ? byte + 32 : byte;
    const bool is_plain = (small >= 'a' && small <= 'z') || (small >= '0' && small <= '9');
    // A dash stands for what was left out, where something came before it and something comes after.
    if (is_plain && is_between && length > 0) room[length++] = '-';
    if (is_plain) room[length++] = small;
    is_between = !is_plain;
  }
  if (length == 0)
    return palisade_fail(palisade_text("no-name"),
                         palisade_text("expected a text with a letter or a digit of ASCII"));

  palisade_writer output = palisade_write();
  palisade_open(&output, '{');
  palisade_put_text_member(&output, "slug", (palisade_bytes){room, length});
  palisade_close(&output, '}');
  return palisade_written(&output);
}
`;

const JAVASCRIPT = `// Two tools that only compute, in one component: \`run\` is given the name of the tool and its input as JSON.
// What a tool uses beside computing is imported from palisade:skill/…; name it in src/skill.wit, too.
const TOOLS = { count, slug };

export function run(tool, input) {
  if (!Object.hasOwn(TOOLS, tool)) throw failure('no-tool', 'there is no such tool');
  return JSON.stringify(TOOLS[tool](JSON.parse(input)));
}

/** {"text":"…"} → {"characters":n,"lines":n,"words":n} */
function count({ text }) {
  return {
    characters: [...text].length,
    lines: text === '' ? 0 : text.split('\\n').length,
    words: text.split(/[\\t-\\r ]+/).filter((word) => word !== '').length,
  };
}

/** {"text":"Hello, World!"} → {"slug":"hello-world"} */
function slug({ text }) {
  const parts = text.toLowerCase().match(/[a-z0-9]+/g);
  if (parts === null) throw failure('no-name', 'expected a text with a letter or a digit of ASCII');
  return { slug: parts.join('-') };
}

/** What is thrown like this is the failure of the tool; everything else is a mistake of its own. */
function failure(code, message) {
  return { code, message };
}
`;

const RUST = `//! Two tools that only compute. A tool takes its input as JSON and gives JSON, or a failure for its caller.
mod palisade;

use palisade::{failure, object, tool, Failure, Json};

tool!(count);
tool!(slug);

/// {"text":"…"} → {"characters":n,"lines":n,"words":n}
fn count(input: &Json) -> Result<Json, Failure> {
    let text = text_in(input)?;
    let lines = if text.is_empty() { 0 } else { text.split('\\n').count() };
    let is_space = |each: char| each == ' ' || ('\\t'..='\\r').contains(&each);
    let words = text.split(is_space).filter(|word| !word.is_empty()).count();
    Ok(object([
        ("characters", (text.chars().count() as u32).into()),
        ("lines", (lines as u32).into()),
        ("words", (words as u32).into()),
    ]))
}

/// {"text":"Hello, World!"} → {"slug":"hello-world"}
fn slug(input: &Json) -> Result<Json, Failure> {
    let small = text_in(input)?.to_ascii_lowercase();
    let parts: Vec<&str> = small.split(|each: char| !each.is_ascii_alphanumeric()).filter(|part| !part.is_empty()).collect();
    if parts.is_empty() {
        return Err(failure("no-name", "expected a text with a letter or a digit of ASCII"));
    }
    Ok(object([("slug", parts.join("-").into())]))
}

fn text_in(input: &Json) -> Result<&str, Failure> {
    input.get("text").and_then(Json::as_text).ok_or_else(|| failure("wrong-input", "expected an object with a text"))
}
`;

/** The world of the component: what it exports, and what it imports. */
export const WORLD = `package local:skill;

world skill {
  include palisade:skill/tool@1.0.0;
}
`;

export const LANGUAGES: Readonly<Record<Language, LanguageTemplate>> = {
  assemblyscript: { name: 'AssemblyScript', source: 'src/skill.ts', text: ASSEMBLYSCRIPT, more: {} },
  c: { name: 'C', source: 'src/skill.c', text: C, more: {} },
  go: {
    name: 'Go',
    source: 'src/skill.go',
    text: GO,
    more: { 'go.mod': GO_MODULE },
    copies: GO_LIBRARY,
  },
  javascript: {
    name: 'JavaScript',
    source: 'src/skill.js',
    text: JAVASCRIPT,
    more: { 'src/skill.wit': WORLD },
  },
  python: {
    name: 'Python',
    // A module called like the world would hide what is generated for it.
    source: 'src/tools.py',
    text: PYTHON,
    more: { 'src/tools.wit': WORLD },
  },
  rust: {
    name: 'Rust',
    source: 'src/skill.rs',
    text: RUST,
    more: {},
    copies: { 'src/palisade.rs': 'rust/palisade.rs' },
  },
};
