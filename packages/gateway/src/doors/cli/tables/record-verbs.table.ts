import type { Verb } from '../verb.ts';
import { AS, CURSOR, LIMIT, OUT } from './shared-flags.ts';

const KEY = {
  name: 'key',
  value: 'FILE',
  sentence: 'The public keys to trust, from `palisade keys export` (default: those of the state directory).',
};

/** The commands of auditors: the journal, receipts, replays and the keys that sign them. */
export const RECORD_VERBS: readonly Verb[] = [
  {
    words: 'verify',
    args: ['FILE'],
    flags: [
      KEY,
      { name: 'input', value: 'FILE', sentence: 'The input (JSON) that the receipt must match.' },
      { name: 'output', value: 'FILE', sentence: 'The output (JSON) that the receipt must match.' },
      { name: 'proof', value: 'FILE', sentence: 'A proof that the receipt is in the journal.' },
    ],
    sentence: 'Verify a receipt, a proof, a key file or a journal export, offline.',
    examples: [
      'palisade verify receipt.json --key keys.json',
      'palisade verify receipt.json --key keys.json --proof proof.json',
    ],
    load: async () => (await import('../nouns/verify.ts')).verify,
  },
  {
    words: 'receipt',
    args: ['CALL'],
    flags: [
      OUT,
      { name: 'decode', value: null, sentence: 'Show the statement inside instead of the signed envelope.' },
    ],
    sentence: 'Print the signed receipt of a call.',
    examples: ['palisade receipt call_01k --out receipt.json', 'palisade receipt call_01k --decode'],
    load: async () => (await import('../nouns/journal.ts')).receipt,
  },
  {
    words: 'replay',
    args: ['CALL'],
    flags: [],
    sentence:
      'Run a recorded call of a WASM tool again (by its id, its receipt or an exported run) and compare output and fuel.',
    examples: ['palisade replay call_01k', 'palisade replay run.json'],
    load: async () => (await import('../nouns/replay.ts')).replayCall,
  },
  {
    words: 'export-run',
    args: ['CALL'],
    flags: [
      {
        name: 'out',
        value: 'FILE',
        sentence: 'Write to this new file (mode 0600) instead of standard output (also -o FILE).',
      },
      { name: 'force', value: null, sentence: 'Replace the file of --out.' },
    ],
    sentence: 'Export what a replay of a call on another machine needs: receipt, recording and module.',
    examples: ['palisade export-run call_01k --out run.json'],
    load: async () => (await import('../nouns/replay.ts')).exportRun,
  },
  {
    words: 'journal tail',
    args: [],
    flags: [
      LIMIT,
      { name: 'follow', value: null, sentence: 'Continue with new records as they are written.' },
    ],
    sentence: 'Show the newest records of the journal.',
    examples: ['palisade journal tail', 'palisade journal tail --follow'],
    load: async () => (await import('../nouns/journal.ts')).tail,
  },
  {
    words: 'journal show',
    args: ['SEQ|CALL'],
    flags: [],
    sentence: 'Show one record by its number, or all records of a call.',
    examples: ['palisade journal show 12', 'palisade journal show call_01k'],
    load: async () => (await import('../nouns/journal.ts')).show,
  },
  {
    words: 'journal search',
    args: [],
    flags: [
      {
        name: 'kind',
        value: 'KIND',
        sentence:
          'The kind: intent, ended, refused, approval-asked, approval-decided, policy-loaded, fault, …',
      },
      { name: 'principal', value: 'PRINCIPAL', sentence: 'The caller, as agent:NAME.' },
      { name: 'tool', value: 'TOOL', sentence: 'The tool.' },
      { name: 'call', value: 'CALL', sentence: 'The call.' },
      { name: 'from', value: 'TIME', sentence: 'Not before this time (ISO 8601).' },
      { name: 'to', value: 'TIME', sentence: 'Not after this time (ISO 8601).' },
      { name: 'oldest-first', value: null, sentence: 'Search from the oldest record instead of the newest.' },
      LIMIT,
      CURSOR,
    ],
    sentence: 'Search the whole journal.',
    examples: ['palisade journal search --kind refused --principal agent:ada --limit 50'],
    load: async () => (await import('../nouns/journal.ts')).search,
  },
  {
    words: 'journal verify',
    args: [],
    flags: [
      { name: 'file', value: 'FILE', sentence: 'Verify this export instead of the state directory.' },
      KEY,
      {
        name: 'checkpoint',
        value: 'FILE',
        sentence: 'A checkpoint from earlier; the journal must continue it.',
      },
    ],
    sentence: 'Verify the journal; names the first bad record.',
    examples: [
      'palisade journal verify',
      'palisade journal verify --checkpoint checkpoint.json',
      'palisade journal verify --file journal.ndjson --key keys.json',
    ],
    load: async () => (await import('../nouns/verify.ts')).journalVerify,
  },
  {
    words: 'journal export',
    args: [],
    flags: [{ name: 'from', value: 'SEQ', sentence: 'Start at this record (default: 1).' }, OUT],
    sentence: 'Export the journal with a new signed checkpoint, for anyone to verify.',
    examples: ['palisade journal export --out journal.ndjson'],
    load: async () => (await import('../nouns/journal.ts')).exportJournal,
  },
  {
    words: 'journal checkpoint',
    args: [],
    flags: [OUT],
    sentence: 'Sign the current state of the journal, to keep elsewhere and compare with later.',
    examples: ['palisade journal checkpoint --out checkpoint.json'],
    load: async () => (await import('../nouns/journal.ts')).checkpoint,
  },
  {
    words: 'journal prove',
    args: ['SEQ|CALL'],
    flags: [OUT],
    sentence: 'Prove that a record (or the ending of a call) is in the journal.',
    examples: ['palisade journal prove call_01k --out proof.json'],
    load: async () => (await import('../nouns/journal.ts')).prove,
  },
  {
    words: 'keys list',
    args: [],
    flags: [],
    sentence: 'List the signing keys.',
    examples: ['palisade keys list'],
    load: async () => (await import('../nouns/keys.ts')).list,
  },
  {
    words: 'keys export',
    args: [],
    flags: [OUT],
    sentence: 'Print the public keys for verifiers.',
    examples: ['palisade keys export --out keys.json'],
    load: async () => (await import('../nouns/keys.ts')).exportKeys,
  },
  {
    words: 'keys rotate',
    args: [],
    flags: [
      AS,
      { name: 'lost', value: null, sentence: 'Start a new key although the current private key is lost.' },
    ],
    sentence: 'Retire the signing key and start a new one; old receipts stay verifiable.',
    examples: ['palisade keys rotate'],
    load: async () => (await import('../nouns/keys.ts')).rotate,
  },
];
