import { createHmac } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { isoTime } from '../core/clock.ts';
import { CodedError } from '../core/coded-error.ts';
import { fetchNamed, type Network } from '../identity/issuer-documents.ts';
import { readKeyUrl } from '../identity/issuer-url.ts';
import { readPrivateFile, UnfitFile } from '../store/private-file.ts';
import type { Channel, Notice } from './notify.ts';

/** The time and the HMAC-SHA256, with the configured secret, of that time, a dot and the body. */
const SIGNATURE = 'palisade-signature';
/** The waits before the second and the third attempt. */
const WAITS_MS = [1_000, 5_000];
const MIN_SECRET_BYTES = 16;
const MAX_SECRET_BYTES = 4_096;

export type WebhookSettings = { readonly url: string; readonly secretFile: string };

/** Posts a notice to the address of the operator, by https or to this machine itself, signed. */
export function webhookChannel(
  { url, secretFile }: WebhookSettings,
  network: Network,
  waitsMs: readonly number[] = WAITS_MS,
): Channel {
  const at = readKeyUrl(url);
  if (at === null)
    throw invalid('approval.notify_url', `it is "${url}"`, 'https, or http of this machine itself');
  const secret = secretIn(secretFile);
  return async (notice, signal) => {
    const body = JSON.stringify(documentOf(notice));
    const post = async () => {
      const seconds = Math.floor(network.clock.nowMs() / 1000);
      const sum = createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex');
      const headers = [
        ['content-type', 'application/json'],
        [SIGNATURE, `t=${seconds},v1=${sum}`],
      ] as const;
      const request = { method: 'POST', headers, body: Buffer.from(body) };
      return fetchNamed(at, true, request, { ...network, signal });
    };
    let outcome = await post();
    for (const waitMs of waitsMs) {
      if (!mayPass(outcome)) break;
      await sleep(waitMs, undefined, { signal });
      outcome = await post();
    }
    if (!outcome.ok) throw new Error(outcome.why);
    if (outcome.status < 200 || outcome.status > 299)
      throw new Error(`the answer has status ${outcome.status}`);
  };
}

/** Whether the same request may succeed in a moment. */
function mayPass(outcome: Awaited<ReturnType<typeof fetchNamed>>): boolean {
  return !outcome.ok || outcome.status === 429 || outcome.status >= 500;
}

/** Boundary: member by member, so that nothing else of a request is ever sent, its input above all. */
function documentOf({ id, tenant, principal, tool, risk, run, expiresAtMs, approveWith }: Notice) {
  const expiresAt = isoTime(expiresAtMs);
  return { event: 'approval-asked', id, tenant, principal, tool, risk, run, expiresAt, approveWith };
}

/** Boundary: without a secret anyone could send such a request, so nothing is sent unsigned. */
function secretIn(path: string): Buffer {
  const expected = `a file of ${MIN_SECRET_BYTES} to ${MAX_SECRET_BYTES} bytes that only its owner can read`;
  const key = 'approval.notify_secret_file';
  if (path === '') throw invalid(key, 'it is not set', expected);
  try {
    const secret = readPrivateFile(path, MAX_SECRET_BYTES);
    if (secret === null) throw invalid(key, `"${path}" does not exist`, expected);
    if (secret.length < MIN_SECRET_BYTES)
      throw invalid(key, `"${path}" has ${secret.length} bytes`, expected);
    return secret;
  } catch (error) {
    if (!(error instanceof UnfitFile)) throw error;
    throw invalid(key, `"${path}": ${error.message}`, expected);
  }
}

function invalid(key: string, is: string, expected: string): CodedError {
  return new CodedError('config/invalid', `Cannot use ${key}: ${is}, expected ${expected}`);
}
