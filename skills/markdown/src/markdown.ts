/* Markdown to HTML that is safe to show: all text is escaped, tags are this program's own, and no image is loaded. */
import { asText, fail, Json, run } from '@palisade/guest/assembly';
import { BlockParser } from './block-parser';
import { outlined, rendered } from './render';

export { palisade_alloc } from '@palisade/guest/assembly';

export function render(place: usize, length: usize): u64 {
  return run(place, length, (input: Json): Json => {
    const text = asText(input.get('markdown'));
    if (text === null) return wrongInput();
    return Json.object().setText('html', rendered(new BlockParser().parse(text)));
  });
}

export function outline(place: usize, length: usize): u64 {
  return run(place, length, (input: Json): Json => {
    const text = asText(input.get('markdown'));
    if (text === null) return wrongInput();
    return Json.object().set('headings', outlined(new BlockParser().parse(text)));
  });
}

/** The gateway has checked the input against its schema; this is for who calls the module without one. */
function wrongInput(): Json {
  return fail('wrong-input', 'expected an object with markdown');
}
