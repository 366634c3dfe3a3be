/*
 * Two tools for one API. The operator says where it is (`base-url` of the configuration) and holds its token: each request
 * names the token by its handle, and the gateway puts it in where the request leaves. Nothing here ever has it.
 */
import { asText, bytesOf, config, fail, Json, Request, run, Secret } from '@palisade/guest/assembly';
import { answered } from './answer';
import { isPath, queryOf } from './path';

export { palisade_alloc } from '@palisade/guest/assembly';

const BASE_URL: string = 'https://api.example.com';

export function fetch(place: usize, length: usize): u64 {
  return run(place, length, (input: Json): Json => {
    const url = urlOf(input);
    if (url === null) return wrongPath();
    return sent(new Request('GET', url).header('accept', 'application/json, text/*;q=0.9'));
  });
}

export function post(place: usize, length: usize): u64 {
  return run(place, length, (input: Json): Json => {
    const url = urlOf(input);
    if (url === null) return wrongPath();
    const body = asText(input.get('body'));
    const type = asText(input.get('content_type'));
    const request = new Request('POST', url).header('accept', 'application/json, text/*;q=0.9');
    request.header('content-type', type === null ? 'application/json' : type);
    return sent(request.body(bytesOf(body === null ? '' : body)));
  });
}

/** Below the base and nowhere else; null where the path is none. */
function urlOf(input: Json): string | null {
  const path = asText(input.get('path'));
  if (path === null || !isPath(path)) return null;
  const base = config('base-url');
  return `${withoutSlash(base === null ? BASE_URL : base)}${path}${queryOf(input.get('query'))}`;
}

function withoutSlash(base: string): string {
  return base.endsWith('/') ? base.slice(0, base.length - 1) : base;
}

function sent(request: Request): Json {
  return answered(request.secret(new Secret(), 'authorization', 'Bearer {}').send());
}

function wrongPath(): Json {
  return fail(
    'wrong-path',
    'expected a path that begins with one slash, without .. and without ? or #; parameters go into query',
  );
}
