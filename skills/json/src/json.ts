/* Tools on JSON documents, which come and go as texts: a pointer into one, a patch over one, and its forms. */
import { asNumber, asText, bytesOf, fail, Json, parseJson, run } from '@palisade/guest/assembly';
import { kindOf } from './kind';
import { merged } from './merge-patch';
import { at, tokensOf } from './pointer';
import { canonical, compact, pretty } from './print';

export { palisade_alloc } from '@palisade/guest/assembly';

const INDENT: i32 = 2;

export function query(place: usize, length: usize): u64 {
  return run(place, length, (input: Json): Json => {
    const document = documentAt(input, 'document');
    if (document === null) return noJson('document');
    const pointer = asText(input.get('pointer'));
    const tokens = tokensOf(pointer === null ? '' : pointer);
    if (tokens === null)
      return fail(
        'wrong-pointer',
        'expected a JSON Pointer: empty, or tokens that each begin with a slash; ~0 is ~, ~1 is /',
      );
    const found = at(document, tokens);
    const value = found === null ? '' : compact(found);
    return Json.object()
      .setText('kind', found === null ? 'missing' : kindOf(found))
      .setText('value', value);
  });
}

export function merge(place: usize, length: usize): u64 {
  return run(place, length, (input: Json): Json => {
    const target = documentAt(input, 'target');
    if (target === null) return noJson('target');
    const patch = documentAt(input, 'patch');
    if (patch === null) return noJson('patch');
    return Json.object().setText('result', compact(merged(target, patch)));
  });
}

export function format(place: usize, length: usize): u64 {
  return run(place, length, (input: Json): Json => {
    const document = documentAt(input, 'document');
    if (document === null) return noJson('document');
    return Json.object().setText('text', printed(document, asText(input.get('style')), input));
  });
}

function printed(document: Json, style: string | null, input: Json): string {
  if (style === null || style === 'pretty') {
    const indent = asNumber(input.get('indent'));
    return pretty(document, Number.isNaN(indent) ? INDENT : (indent as i32));
  }
  return style === 'canonical' ? canonical(document) : compact(document);
}

/** The value that a member spells; null where it is no JSON. */
function documentAt(input: Json, key: string): Json | null {
  const text = asText(input.get(key));
  return text === null ? null : parseJson(bytesOf(text));
}

function noJson(key: string): Json {
  return fail(
    'no-json',
    `the ${key} is no JSON: it has to be whole, with no key twice in an object and at most 128 deep`,
  );
}
