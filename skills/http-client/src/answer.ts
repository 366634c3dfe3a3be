import {
  Answer,
  DENIED,
  FULL,
  fail,
  INVALID,
  Json,
  Response,
  TOO_LARGE,
  TOO_SLOW,
  UNAVAILABLE,
} from '@palisade/guest/assembly';

/** Longer bodies are cut; who calls is told. */
const MOST_BODY_BYTES: i32 = 32_768;
const MOST_TYPE_CHARACTERS: i32 = 200;

/** What came back, whatever its status; or why nothing did, in words for who called. */
export function answered(answer: Answer<Response>): Json {
  if (!answer.ok) return refused(answer.error);
  const response = answer.value;
  const end = wholeCharacters(response.body, MOST_BODY_BYTES);
  if (end < 0)
    return fail('not-text', `the answer has the status ${response.status} and is no text in UTF-8`);
  const type = response.header('content-type');
  return Json.object()
    .setText('body', String.UTF8.decodeUnsafe(response.body.dataStart, end))
    .setText('content_type', type === null ? '' : type.slice(0, MOST_TYPE_CHARACTERS))
    .setBool('is_cut', end < response.body.length)
    .setNumber('status', response.status);
}

function refused(error: i32): Json {
  if (error === DENIED)
    return fail(
      'denied',
      'the gateway did not let the request out: the host or the token is not granted for it',
    );
  if (error === UNAVAILABLE) return fail('unreachable', 'the API cannot be reached, or broke off');
  if (error === TOO_SLOW) return fail('too-slow', 'the API did not answer in time; try again later');
  if (error === TOO_LARGE) return fail('too-large', 'the answer is larger than is taken; ask for less of it');
  if (error === FULL) return fail('no-more', 'this call has made all the requests that it may');
  if (error === INVALID) return fail('wrong-request', 'no request can be made of it; is base-url a URL?');
  return fail('failed', `the request failed with the error ${error}`);
}

/** How many of the first bytes are whole characters in UTF-8; -1 where something else is among them. */
function wholeCharacters(bytes: Uint8Array, most: i32): i32 {
  let at = 0;
  while (at < bytes.length) {
    const size = sizeAt(bytes, at);
    if (at + size > most) return at;
    if (size === 0) return -1;
    at += size;
  }
  return at;
}

/** The bytes of the character at a place; 0 where there is none. */
function sizeAt(bytes: Uint8Array, at: i32): i32 {
  const first = bytes[at];
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  const size = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (at + size > bytes.length) return 0;
  const second = bytes[at + 1];
  const least: u8 = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80;
  const highest: u8 = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf;
  if (second < least || second > highest) return 0;
  for (let next = 2; next < size; next += 1) if (bytes[at + next] >> 6 !== 2) return 0;
  return size;
}
