import { type Verb, verbs } from '../verb.ts';
import { AS, CURSOR, LIMIT, OUT } from './shared-flags.ts';

const KEY = {
  'key FILE':
    'The public keys to trust, from `palisade keys export` (default: those of the state directory).',
};

/** The commands of auditors: the journal, receipts, replays and the keys that sign them. */
export const RECORD_VERBS: readonly Verb[] = verbs({
  'verify FILE': {
    sentence: 'Verify a receipt, a proof, a key file or a journal export, offline.',
    flags: {
      ...KEY,
      'input FILE': 'The input (JSON) that the receipt must match.',
      'output FILE': 'The output (JSON) that the receipt must match.',
      'proof FILE': 'A proof that the receipt is in the journal.',
    },
    examples: [
      'palisade verify receipt.json --key keys.json',
      'palisade verify receipt.json --key keys.json --proof proof.json',
    ],
    load: async () => (await import('../nouns/verify.ts')).verify,
  },
  'receipt CALL': {
    sentence: 'Print the signed receipt of a call.',
    flags: { ...OUT, decode: 'Show the statement inside instead of the signed envelope.' },
    examples: ['palisade receipt call_01k --out receipt.json', 'palisade receipt call_01k --decode'],
    load: async () => (await import('../nouns/journal.ts')).receipt,
  },
  'replay CALL': {
    sentence:
      'Run a recorded call of a WASM tool again (by its id, its receipt or an exported run) and compare output and fuel.',
    examples: ['palisade replay call_01k', 'palisade replay run.json'],
    load: async () => (await import('../nouns/replay.ts')).replayCall,
  },
  'export-run CALL': {
    sentence: 'Export what a replay of a call on another machine needs: receipt, recording and module.',
    flags: {
      'out FILE': 'Write to this new file (mode 0600) instead of standard output (also -o FILE).',
      force: 'Replace the file of --out.',
    },
    examples: ['palisade export-run call_01k --out run.json'],
    load: async () => (await import('../nouns/replay.ts')).exportRun,
  },
  'journal tail': {
    sentence: 'Show the newest records of the journal.',
    flags: { ...LIMIT, follow: 'Continue with new records as they are written.' },
    examples: ['palisade journal tail', 'palisade journal tail --follow'],
    load: async () => (await import('../nouns/journal.ts')).tail,
  },
  'journal show SEQ|CALL': {
    sentence: 'Show one record by its number, or all records of a call.',
    examples: ['palisade journal show 12', 'palisade journal show call_01k'],
    load: async () => (await import('../nouns/journal.ts')).show,
  },
  'journal search': {
    sentence: 'Search the whole journal.',
    flags: {
      'kind KIND':
        'The kind: intent, ended, refused, approval-asked, approval-decided, policy-loaded, fault, …',
      'principal PRINCIPAL': 'The caller, as agent:NAME.',
      'tool TOOL': 'The tool.',
      'call CALL': 'The call.',
      'from TIME': 'Not before this time (ISO 8601).',
      'to TIME': 'Not after this time (ISO 8601).',
      'oldest-first': 'Search from the oldest record instead of the newest.',
      ...LIMIT,
      ...CURSOR,
    },
    examples: ['palisade journal search --kind refused --principal agent:ada --limit 50'],
    load: async () => (await import('../nouns/journal.ts')).search,
  },
  'journal verify': {
    sentence: 'Verify the journal; names the first bad record.',
    flags: {
      'file FILE': 'Verify this export instead of the state directory.',
      ...KEY,
      'checkpoint FILE': 'A checkpoint from earlier; the journal must continue it.',
    },
    examples: [
      'palisade journal verify',
      'palisade journal verify --checkpoint checkpoint.json',
      'palisade journal verify --file journal.ndjson --key keys.json',
    ],
    load: async () => (await import('../nouns/verify.ts')).journalVerify,
  },
  'journal export': {
    sentence: 'Export the journal with a new signed checkpoint, for anyone to verify.',
    flags: { 'from SEQ': 'Start at this record (default: 1).', ...OUT },
    examples: ['palisade journal export --out journal.ndjson'],
    load: async () => (await import('../nouns/journal.ts')).exportJournal,
  },
  'journal checkpoint': {
    sentence: 'Sign the current state of the journal, to keep elsewhere and compare with later.',
    flags: OUT,
    examples: ['palisade journal checkpoint --out checkpoint.json'],
    load: async () => (await import('../nouns/journal.ts')).checkpoint,
  },
  'journal prove SEQ|CALL': {
    sentence: 'Prove that a record (or the ending of a call) is in the journal.',
    flags: OUT,
    examples: ['palisade journal prove call_01k --out proof.json'],
    load: async () => (await import('../nouns/journal.ts')).prove,
  },
  'keys list': {
    sentence: 'List the signing keys.',
    load: async () => (await import('../nouns/keys.ts')).list,
  },
  'keys export': {
    sentence: 'Print the public keys for verifiers.',
    flags: OUT,
    examples: ['palisade keys export --out keys.json'],
    load: async () => (await import('../nouns/keys.ts')).exportKeys,
  },
  'keys rotate': {
    sentence: 'Retire the signing key and start a new one; old receipts stay verifiable.',
    flags: { ...AS, lost: 'Start a new key although the current private key is lost.' },
    load: async () => (await import('../nouns/keys.ts')).rotate,
  },
});
