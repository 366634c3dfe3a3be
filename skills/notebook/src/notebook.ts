/* Notes by their names, kept in storage. Each has a version, so that nobody writes over what they have not read. */
import { asNumber, asText, fail, Json, run } from '@palisade/guest/assembly';
import { Notebook } from './notes';

export { palisade_alloc } from '@palisade/guest/assembly';

const LIST_NAMES: i32 = 100;

export function put(place: usize, length: usize): u64 {
  return run(place, length, (input: Json): Json => {
    const name = asText(input.get('name'));
    const text = asText(input.get('text'));
    if (name === null || text === null) return wrongInput('name and text');
    return new Notebook().put(name, text, versionOf(input));
  });
}

export function get(place: usize, length: usize): u64 {
  return run(place, length, (input: Json): Json => {
    const name = asText(input.get('name'));
    return name === null ? wrongInput('name') : new Notebook().get(name);
  });
}

export function append(place: usize, length: usize): u64 {
  return run(place, length, (input: Json): Json => {
    const name = asText(input.get('name'));
    const text = asText(input.get('text'));
    if (name === null || text === null) return wrongInput('name and text');
    return new Notebook().append(name, text);
  });
}

export function list(place: usize, length: usize): u64 {
  return run(place, length, (input: Json): Json => {
    const after = asText(input.get('after'));
    const limit = asNumber(input.get('limit'));
    return new Notebook().list(
      after === null ? '' : after,
      Number.isNaN(limit) ? LIST_NAMES : (limit as i32),
    );
  });
}

export function remove(place: usize, length: usize): u64 {
  return run(place, length, (input: Json): Json => {
    const name = asText(input.get('name'));
    return name === null ? wrongInput('name') : new Notebook().remove(name, versionOf(input));
  });
}

/** The version that a note must have; below zero: whatever it has. */
function versionOf(input: Json): f64 {
  const version = asNumber(input.get('version'));
  return Number.isNaN(version) ? -1 : version;
}

/** The gateway has checked the input against its schema; this is for who calls the module without one. */
function wrongInput(what: string): Json {
  return fail('wrong-input', `expected an object with ${what}`);
}
