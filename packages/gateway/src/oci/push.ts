import { type Answer, valuesOf } from './errors.ts';
import { OCI_LIMITS } from './limits.ts';
import { requireHeaders } from './pull.ts';
import type { OciDigest, Reference, Repository } from './reference.ts';
import type { RegistrySession } from './session.ts';
import { MANIFEST_TYPE, ociDigest } from './skill-artifact.ts';

/*
 * Writes to a registry: a blob that is not there yet, in one request, or in pieces where the registry does not take it in
 * one; then the manifest, which is what makes it visible. An upload that is broken off leaves nothing visible behind.
 */

export function pushScope({ name }: Repository): string {
  return `repository:${name}:pull,push`;
}

/** Uploads a blob unless the registry has it; whether it was sent. */
export async function pushBlob(
  session: RegistrySession,
  repository: Repository,
  bytes: Uint8Array,
): Promise<boolean> {
  const digest = ociDigest(bytes);
  const scope = pushScope(repository);
  const at = `/v2/${repository.name}/blobs/${digest}`;
  const known = await session.request({ method: 'HEAD', at, scope }, [200, 404]);
  if (known.status === 200) return false;
  const begun = await begin(session, repository);
  const whole = await session.request(putOf(digest, bytes, scope, begun.location), [201, 413]);
  if (whole.status === 413) await pushPieces(session, repository, bytes);
  else requireHeaders(session.task.act, whole, digest);
  return true;
}

async function begin(session: RegistrySession, repository: Repository) {
  const at = `/v2/${repository.name}/blobs/uploads/`;
  const scope = pushScope(repository);
  const answer = await session.request({ method: 'POST', at, body: new Uint8Array(0), scope }, [202]);
  return { answer, location: session.locationOf(answer, session.url(at)) };
}

function putOf(digest: OciDigest, body: Uint8Array, scope: string, at: ReturnType<RegistrySession['url']>) {
  const path = `${at.path}${at.path.includes('?') ? '&' : '?'}digest=${encodeURIComponent(digest)}`;
  const headers = [['content-type', 'application/octet-stream']] as const;
  return { method: 'PUT', at: { ...at, path }, headers, body, scope, isTransfer: true } as const;
}

/** Some registries, and proxies before them, take only so many bytes in one request. */
async function pushPieces(
  session: RegistrySession,
  repository: Repository,
  bytes: Uint8Array,
): Promise<void> {
  const scope = pushScope(repository);
  const { answer, location } = await begin(session, repository);
  const size = Math.max(OCI_LIMITS.chunkBytes, leastOf(answer));
  let at = location;
  for (let from = 0; from < bytes.length; from += size) {
    const body = bytes.subarray(from, from + size);
    const headers = [
      ['content-type', 'application/octet-stream'],
      ['content-range', `${from}-${from + body.length - 1}`],
    ] as const;
    const taken = await session.request(
      { method: 'PATCH', at, headers, body, scope, isTransfer: true },
      [202],
    );
    at = session.locationOf(taken, at);
  }
  const digest = ociDigest(bytes);
  const done = await session.request(putOf(digest, new Uint8Array(0), scope, at), [201]);
  requireHeaders(session.task.act, done, digest);
}

function leastOf(answer: Answer): number {
  const [least = ''] = valuesOf(answer, 'oci-chunk-min-length');
  return /^[0-9]{1,9}$/.test(least) ? Number(least) : 0;
}

/** Makes a tag stand for a manifest whose blobs are there. */
export async function pushManifest(
  session: RegistrySession,
  reference: Reference,
  manifest: Uint8Array,
): Promise<OciDigest> {
  const digest = ociDigest(manifest);
  const answer = await session.request(
    {
      method: 'PUT',
      at: `/v2/${reference.name}/manifests/${reference.tag}`,
      headers: [['content-type', MANIFEST_TYPE]],
      body: manifest,
      scope: pushScope(reference),
    },
    [201],
  );
  requireHeaders(session.task.act, answer, digest);
  return digest;
}
