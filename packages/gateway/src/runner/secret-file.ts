import { isUtf8 } from 'node:buffer';
import { CodedError } from '../core/coded-error.ts';
import { quote } from '../core/hostile-text.ts';
import { problemWithSecret } from '../egress/secrets.ts';
import { readPrivateFile, UnfitFile } from '../store/private-file.ts';

/*
 * A file with one secret in it. It is the operator's, but what stands in its place may not be: the file is opened once
 * and judged by its descriptor, so that what was judged is what is read. No message has a byte of the content.
 */

const MAX_BYTES = 64 * 1024;

/** The first line of a file that only the user of the gateway can read; throws a CodedError for any other. */
export function readSecretFile(path: string): string {
  const bytes = readBytes(path);
  if (!isUtf8(bytes)) throw unfit(path, 'it has other bytes, expected UTF-8');
  const [line = ''] = new TextDecoder().decode(bytes).split('\n', 1);
  const value = line.replace(/\r$/, '');
  const problem = problemWithSecret(value);
  if (problem !== null) throw unfit(path, problem);
  return value;
}

function readBytes(path: string): Uint8Array {
  try {
    const bytes = readPrivateFile(path, MAX_BYTES);
    if (bytes !== null) return bytes;
  } catch (error) {
    if (!(error instanceof UnfitFile)) throw error;
    throw unfit(path, error.message);
  }
  throw unfit(path, 'it gives ENOENT, expected a file that can be read');
}

function unfit(path: string, is: string): CodedError {
  return new CodedError('config/invalid', `Cannot use the secret file ${quote(path)}: ${is}`, {
    remedy: 'Put the value alone into a file of your own with mode 0600, and name it in palisade.toml.',
  });
}
