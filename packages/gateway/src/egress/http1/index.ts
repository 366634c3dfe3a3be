/*
 * The HTTP/1 codec: bytes to heads, fields and bodies, and back. The input is sent by hostile clients and targets, in
 * any pieces. Nothing is repaired: anything that two programs could read differently is a problem, which carries the
 * status that a proxy answers it with. Nothing is decided here and nothing is connected.
 */
export { type BodyReader, formatChunks, newBodyReader } from './body.ts';
export {
  endToEnd,
  type Field,
  type Framing,
  type HttpProblem,
  type HttpResult,
  type MessageSide,
  parseFields,
  rejectBody,
  tokensOf,
  valuesOf,
} from './fields.ts';
export { type HeadLines, HeadReader, type MessageHead, readHead } from './head.ts';
export {
  formatRequestHead,
  type PlainRequest,
  type ProxyRequest,
  parseRequestHead,
  parseRequestLine,
  parseSiteHead,
  type TunnelRequest,
} from './request.ts';
export {
  checkStatusLine,
  formatResponseHead,
  parseResponseHead,
  type Response,
  readFinalHead,
} from './response.ts';
