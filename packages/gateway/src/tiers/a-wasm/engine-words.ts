import type { EngineFacts } from '../../core/recording.ts';
import type { AbiName, CapabilityKind } from './abi.table.ts';
import type { FormHead } from './forms.ts';

/* The heads of frames. Both sides are ours; the gateway checks what an engine says all the same. */

/** What a guest may use of an engine. */
export type GuestLimits = {
  readonly fuel: number;
  readonly memoryBytes: number;
  readonly outputBytes: number;
  readonly logBytes: number;
};

/** A module in the form that an engine made of it, which calls will name by its key. */
export type ModuleHead = FormHead & { readonly key: string };

/** A module that is to be made ready, for calls that may use so much memory: what a guest is told of it depends on that. */
export type PrepareHead = { readonly memoryBytes: number };

/** What an engine made of a module, with the form as the bytes; or why it takes none such. */
export type PreparedHead = FormHead | { readonly refused: Refused };

/** Why an engine refuses a module: its code, and its sentence. */
export type Refused = { readonly code: string; readonly message: string; readonly detail?: string };

export type CallHead = {
  readonly key: string;
  /** Guests of different owners never sit on the same place. */
  readonly owner: string;
  readonly tool: string;
  /** Host functions that are there. */
  readonly functions: readonly AbiName[];
  readonly counts: Readonly<Record<CapabilityKind, number>>;
  readonly limits: GuestLimits;
  readonly startedMs: number;
  /** Of its random bytes, in hexadecimal. */
  readonly seed: string;
  readonly config: Readonly<Record<string, string>>;
};

/** The longest texts of one question: more than any capability takes, so that nothing longer is copied or looked at. */
export const MOST_ASK_BYTES = 8 * 1024 * 1024;
/** What a module comes to in its form, at most: the meter makes twenty of a byte where it has to look before each of them. */
const MOST_GROWTH = 20;
const MOST_FORM_BYTES = 160 * 1024 * 1024;
/** Names of imports and exports, and what the meter adds to every module. */
const MOST_ADDED_BYTES = 1024 * 1024;

/** The longest form of a module that is so long; the engine refuses a longer one, and the gateway does not wait for it. */
export function mostFormBytes(moduleBytes: number): number {
  return Math.min(MOST_GROWTH * moduleBytes, MOST_FORM_BYTES) + MOST_ADDED_BYTES;
}

/** What a line of the log counts beside its text: about what the gateway puts around it. */
export const LOG_LINE_BYTES = 10;

/** What a guest asks of the gateway: numbers as they are, and the lengths of the texts that follow as bytes. */
export type AskHead = {
  readonly name: AbiName;
  readonly numbers: readonly number[];
  readonly lengths: readonly number[];
};

/** A length of bytes that follow and are kept for the guest, zero, or an error of the ABI. */
export type AnswerHead = { readonly result: number };

export type LogHead = { readonly level: number };

/** How a call ended; the bytes are its output, or the JSON of the error that the tool reported. */
export type DoneHead = {
  readonly ending: 'returned' | 'failed' | 'trapped';
  /** Of a trap: the code of the engine, and its sentence. */
  readonly code?: string;
  readonly message?: string;
  readonly detail?: string;
  readonly fuelUsed: number;
  readonly isExact: boolean;
  readonly peakMemoryBytes: number;
  readonly isLogCut: boolean;
  /** What its count depends on; left out by one that does not say. */
  readonly engine?: EngineFacts;
};
