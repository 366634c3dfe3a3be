import { Answer, answerOf, headLengthOf, INVALID } from './answer';
import { textOf } from './bytes';
import { asList, asNumber, asText, Json, JsonList, JsonObject } from './json';
import { readJson } from './json-reader';
import { writeJson } from './json-writer';
import { HTTP, handleOf, http_request, Secret } from './palisade_v1';

export class Header {
  readonly name: string;
  readonly value: string;

  constructor(name: string, value: string) {
    this.name = name;
    this.value = value;
  }
}

/** A request, built step by step: `new Request('GET', url).header('accept', '*')`. */
export class Request {
  private readonly head: JsonObject = Json.object();
  private readonly headers: JsonList = Json.list();
  private content: Uint8Array = new Uint8Array(0);

  constructor(method: string, url: string) {
    this.head.setText('method', method).setText('url', url).set('headers', this.headers);
  }

  header(name: string, value: string): this {
    this.headers.add(Json.list().add(Json.text(name)).add(Json.text(value)));
    return this;
  }

  /** Has the gateway put a secret into a header, in place of `{}` in the format; the guest does not see it. */
  secret(secret: Secret, header: string, format: string): this {
    const use = Json.object().setNumber('handle', secret.handle);
    this.head.set('secret', use.setText('header', header).setText('format', format));
    return this;
  }

  body(content: Uint8Array): this {
    this.content = content;
    return this;
  }

  /** Sends it with the capability at a position in the grant. */
  send(index: i32 = 0): Answer<Response> {
    const head = writeJson(this.head);
    const answer = answerOf(
      http_request(
        handleOf(HTTP, index),
        head.dataStart,
        head.length,
        this.content.dataStart,
        this.content.length,
      ),
    );
    return answer.ok ? responseOf(answer.value) : new Answer<Response>(answer.error, null);
  }
}

/** The response; a status such as 404 is not an error. */
export class Response {
  readonly status: i32;
  /** After a redirect it differs from that of the request. */
  readonly url: string;
  readonly headers: Header[] = [];
  readonly body: Uint8Array;

  constructor(status: i32, url: string, body: Uint8Array) {
    this.status = status;
    this.url = url;
    this.body = body;
  }

  /** The body in UTF-8. */
  get text(): string {
    return textOf(this.body);
  }

  /** The first header of a lower-case name; null if there is none. */
  header(name: string): string | null {
    for (let index = 0; index < this.headers.length; index += 1)
      if (this.headers[index].name.toLowerCase() === name) return this.headers[index].value;
    return null;
  }
}

function responseOf(bytes: Uint8Array): Answer<Response> {
  const headLength = headLengthOf(bytes);
  const head = readJson(bytes.dataStart + 4, headLength);
  if (head === null) return new Answer<Response>(INVALID, null);
  const url = asText(head.get('url'));
  const body = bytes.subarray(4 + headLength);
  const response = new Response(asNumber(head.get('status')) as i32, url === null ? '' : url, body);
  const pairs = asList(head.get('headers'));
  for (let index = 0; index < pairs.length; index += 1) {
    const pair = asList(pairs[index]);
    response.headers.push(new Header(asText(pair[0]) as string, asText(pair[1]) as string));
  }
  return new Answer(0, response);
}
