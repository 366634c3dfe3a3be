export { fromBase64, fromHex, fromUtf8, toBase64, toHex, toUtf8 } from './bytes.ts';
export { canonicalize, MAX_DEPTH } from './canonical.ts';
export {
  CHECKPOINT_PAYLOAD_TYPE,
  type Checkpoint,
  type CheckpointReport,
  verifyCheckpoint,
} from './checkpoint.ts';
export type { ClientOptions } from './client/connection.ts';
export { PalisadeClient } from './client/palisade-client.ts';
export { type ClientCode, type ErrorCode, type Failure, PalisadeError } from './client/palisade-error.ts';
export type { RequestOptions } from './client/send.ts';
export { eventsOf, type StreamEvent } from './client/server-events.ts';
export type { CallEvent, CallOptions } from './client/stream-call.ts';
export { type ToldCall, verifyCall } from './client/verify-call.ts';
export type * as Wire from './client/wire.ts';
export { CODES, type Code, type CodeKind, type CodeRow, isCode } from './codes.table.ts';
export { type DocumentKind, detectDocument } from './detect.ts';
export { MAX_DOCUMENT_BYTES } from './document.ts';
export { findEndingError, holdsReceipt } from './ending.ts';
export { type Envelope, encodeEnvelope, preAuthEncoding, readEnvelope } from './envelope.ts';
export type { FirstBad } from './first-bad.ts';
export {
  type ExportHeader,
  encodeExportCheckpoint,
  encodeExportHeader,
  JOURNAL_FORMAT,
} from './journal-export.ts';
export {
  KEY_DOCUMENT_TYPE,
  type KeyDocument,
  keyDocumentMessage,
  keyIdOf,
  type ParsedKey,
  parseKeyDocument,
  type RingKey,
} from './key-document.ts';
export { type KeyRing, type KeyRingResult, parseKeyRing } from './key-ring.ts';
export { linesOf, MalformedLine } from './lines.ts';
export {
  appendLeaves,
  EMPTY_FRONTIER,
  type Frontier,
  frontierRoot,
  type Inclusion,
  inclusionRoot,
  verifyInclusion,
} from './merkle.ts';
export { type Primitives, webPrimitives } from './primitives.ts';
export { encodeProof, PROOF_FORMAT, type Proof, type ProofReport, verifyProof } from './proof.ts';
export {
  type Limits,
  type Predicate,
  RECEIPT_PAYLOAD_TYPE,
  RECEIPT_PREDICATE_TYPE,
  type ReceiptStatus,
  STATEMENT_TYPE,
  type Statement,
  type Subject,
  type Usage,
} from './receipt.ts';
export { hashRecord, type JournalRecord, parseRecord, ZERO_HASH } from './record.ts';
export type { Check, Found } from './report.ts';
export { type JournalOptions, type JournalReport, verifyJournal } from './verify-journal.ts';
export { type ReceiptOptions, type Report, verifyReceipt } from './verify-receipt.ts';
