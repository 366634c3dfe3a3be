/**
 * The answers of a skill's test cases: fixtures/http.json says what is answered to which request, so that a tool that
 * makes requests is tested without a network. Fixtures exist for test cases alone. A request that none of them matches
 * fails its case, and is never sent.
 */
import { canonicalize } from '@palisade/sdk';
import { quote, safeLine } from '../core/hostile-text.ts';
import type { Json } from '../core/json.ts';
import { anyText, ifPresent, readJson, record, type Shaped } from '../core/json-shape.ts';
import { accept, orElse, type Problem, type Result } from '../core/result.ts';
import {
  anything,
  choice,
  note,
  optional,
  required,
  type Shape,
  table,
  tables,
  textLike,
  withDefault,
} from '../core/shape.ts';
import { describeValue } from '../core/shape-problem.ts';
import { type AnswerRequest, TEST_FAILURES, type TestAnswer, type TestRequest } from '../core/wasm.ts';
import { FIXTURE_LIMITS } from './limits.ts';
import { type Entries, FIXTURES_FILE } from './package/skill-package.ts';

const METHOD = textLike('a method in capital letters such as "GET"', (text) => /^[A-Z]{1,16}$/.test(text));
const HTTP_URL = textLike('an absolute URL such as "https://api.example.com/v1"', (text) =>
  /^https?:\/\//.test(orElse(() => new URL(text).href, '')),
);
const STATUS: Shape<number> = (raw, site) => {
  if (typeof raw === 'number' && Number.isInteger(raw) && raw >= 200 && raw <= 599) return raw;
  return note(site, { is: describeValue(raw), expected: 'a status from 200 to 599' });
};

const REQUEST = table({
  method: withDefault(METHOD, 'GET'),
  url: required(HTTP_URL, '"url": "https://api.example.com/v1"'),
  headers: withDefault(record(anyText), {}),
  body: ifPresent(anything),
});
const RESPONSE = table({
  status: withDefault(STATUS, 200),
  headers: withDefault(record(anyText), {}),
  body: ifPresent(anything),
});
const FIXTURE = table(
  {
    request: required(REQUEST, '"request": {"url": …}'),
    response: optional(RESPONSE),
    error: optional(choice(TEST_FAILURES)),
  },
  {
    also: ({ response, error }, site) => {
      if ((response === null) !== (error === null)) return;
      note(site, { is: `it has ${error === null ? 'neither' : 'both'}`, expected: 'a response or an error' });
    },
  },
);
const FILE = table({
  fixtures: required(tables(FIXTURE, { max: FIXTURE_LIMITS.fixtures, header: '"fixtures"' })),
});

/** What is answered to one kind of request. What it does not name of a request may be anything. */
export type HttpFixture = Shaped<typeof FIXTURE>;

/** Reads the fixtures of a skill; null where it has none. */
export function parseFixtures(entries: Entries): Result<readonly HttpFixture[] | null, Problem> {
  const bytes = entries.get(FIXTURES_FILE);
  if (bytes === undefined) return accept(null);
  const { fileBytes: maxBytes, levels: maxDepth } = FIXTURE_LIMITS;
  const read = readJson(bytes, { maxBytes, maxDepth }, FILE);
  return read.ok ? accept(read.value.fixtures) : read;
}

/** Answers the requests of one guest after the other, and remembers those that nothing matched. */
export type FixtureAnswers = {
  readonly answer: AnswerRequest;
  /** What to say of the requests that were not answered since it was last asked. */
  readonly takeMisses: () => readonly string[];
};

export function answersFrom(fixtures: readonly HttpFixture[]): FixtureAnswers {
  let misses: string[] = [];
  const answer = (request: TestRequest): TestAnswer => {
    const found = fixtures.find((fixture) => differenceFrom(fixture, request) === null);
    if (found !== undefined) return answerOf(found);
    // Boundary: a guest can make many requests, and each would be told on.
    if (misses.length < FIXTURE_LIMITS.shownMisses) misses.push(missOf(fixtures, request));
    return { error: 'unavailable' };
  };
  const takeMisses = () => {
    const taken = misses;
    misses = [];
    return taken;
  };
  return { answer, takeMisses };
}

function answerOf({ response, error }: HttpFixture): TestAnswer {
  if (response === null) return { error: error ?? 'unavailable' };
  const { status, headers, body } = response;
  const pairs = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  const isTyped = body === undefined || typeof body === 'string' || pairs.some(([name]) => name === TYPE);
  return {
    status,
    headers: isTyped ? pairs : [...pairs, [TYPE, 'application/json']],
    body: Buffer.from(body === undefined || typeof body === 'string' ? (body ?? '') : JSON.stringify(body)),
  };
}

const TYPE = 'content-type';

/** The first part of a request that is not what a fixture names; null: it matches. */
function differenceFrom({ request: wanted }: HttpFixture, request: TestRequest): string | null {
  if (wanted.method !== request.method) return 'method';
  if (hrefOf(wanted.url) !== hrefOf(request.url)) return 'url';
  for (const [name, value] of Object.entries(wanted.headers)) {
    const isThere = ([other, is]: TestRequest['headers'][number]) =>
      other.toLowerCase() === name.toLowerCase() && is === value;
    if (!request.headers.some(isThere)) return `header ${quote(name)}`;
  }
  return isBody(wanted.body, request.body) ? null : 'body';
}

function hrefOf(url: string): string {
  return orElse(() => new URL(url).href, url);
}

/** A text is compared as it is, any other value as JSON. */
function isBody(wanted: unknown, body: Uint8Array): boolean {
  if (wanted === undefined) return true;
  const text = Buffer.from(body).toString('utf8');
  if (typeof wanted === 'string') return text === wanted;
  return orElse(() => canonicalize(JSON.parse(text)) === canonicalize(wanted as Json), false);
}

const MOST_URL_CHARS = 500;

function missOf(fixtures: readonly HttpFixture[], request: TestRequest): string {
  const [method, url] = [safeLine(request.method, 16), safeLine(request.url, MOST_URL_CHARS)];
  const near = fixtures
    .map((fixture, index) => ({ index, what: differenceFrom(fixture, request) }))
    .find(({ what }) => what !== null && what !== 'method' && what !== 'url');
  const but = near === undefined ? '' : `; fixtures[${near.index}] expects another ${near.what}`;
  const example = JSON.stringify({ request: { method, url }, response: { status: 200, body: {} } });
  return `the request ${method} ${url} has no fixture${but}. Add one to ${FIXTURES_FILE}: ${example}`;
}
