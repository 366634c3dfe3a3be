import { describe, expect, test } from 'vitest';
import { encodeEnvelope, preAuthEncoding, toUtf8 } from '../src/index.ts';
import { readVectors } from './signer.ts';

describe('preAuthEncoding()', () => {
  test.each(readVectors<{ payloadType: string; payload: string; encoded: string }[]>('pae.json'))(
    'encodes $payloadType as published',
    ({ payloadType, payload, encoded }) => {
      expect(preAuthEncoding(payloadType, toUtf8(payload))).toEqual(toUtf8(encoded));
    },
  );
});

describe('encodeEnvelope()', () => {
  test('writes canonical JSON with one signature and no line feed', () => {
    expect(encodeEnvelope('t', toUtf8('{}'), 'sha256:00', Uint8Array.of(1))).toBe(
      '{"payload":"e30=","payloadType":"t","signatures":[{"keyid":"sha256:00","sig":"AQ=="}]}',
    );
  });
});
