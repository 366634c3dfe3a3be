import { CodedError } from '../core/coded-error.ts';
import { type Answer, mismatched, valuesOf } from './errors.ts';
import { OCI_LIMITS } from './limits.ts';
import { isOciDigest, type OciDigest, type Reference, type Repository } from './reference.ts';
import type { RegistrySession } from './session.ts';
import { ACCEPTED_TYPES, ociDigest, readManifest, type SkillArtifact } from './skill-artifact.ts';

/* Reads a skill from a registry. Nothing is believed: every byte is compared with a digest before it is used. */

/** A skill as a registry has it under a reference. */
export type FoundSkill = SkillArtifact & {
  readonly reference: Reference;
  /** Of the manifest: what the reference stands for. */
  readonly digest: OciDigest;
};

export function pullScope({ name }: Repository): string {
  return `repository:${name}:pull`;
}

/** The skill that a reference with a tag or a digest stands for now; its package is not fetched. */
export async function findSkill(
  session: RegistrySession,
  reference: Reference,
  maxPackageBytes: number,
): Promise<FoundSkill> {
  const { act } = session.task;
  const answer = await session.request(
    {
      method: 'GET',
      at: `/v2/${reference.name}/manifests/${reference.digest ?? reference.tag}`,
      headers: [['accept', ACCEPTED_TYPES]],
      scope: pullScope(reference),
      responseBytes: OCI_LIMITS.manifestBytes,
    },
    [200],
  );
  const digest = ociDigest(answer.body);
  // Boundary: what was asked for by its digest is these bytes, or the registry is lying.
  if (reference.digest !== null && reference.digest !== digest)
    throw mismatched(act, `its manifest has the digest ${digest}`, reference.digest);
  requireHeaders(act, answer, digest);
  const [contentType] = valuesOf(answer, 'content-type');
  const plain = contentType?.split(';', 1)[0]?.trim().toLowerCase() ?? null;
  const read = readManifest(answer.body, plain, maxPackageBytes);
  if (read.ok) return { ...read.value, reference, digest };
  const { is, expected } = read.problem;
  throw new CodedError('oci/not-a-skill', `Cannot ${act}: ${is}, expected ${expected}`);
}

/** The package of a skill: exactly the bytes that its manifest names. */
export async function fetchPackage(
  session: RegistrySession,
  { reference, layer }: FoundSkill,
): Promise<Uint8Array> {
  const { act } = session.task;
  const answer = await session.request(
    {
      method: 'GET',
      at: `/v2/${reference.name}/blobs/${layer.digest}`,
      scope: pullScope(reference),
      // Boundary: not a byte more is read than the manifest announced, and what announces too much was refused.
      responseBytes: Math.max(layer.bytes, OCI_LIMITS.noteBytes),
      isTransfer: true,
    },
    [200],
  );
  const { body } = answer;
  if (body.length !== layer.bytes)
    throw mismatched(act, `its package has ${body.length} bytes`, `${layer.bytes}, as its manifest says`);
  const digest = ociDigest(body);
  if (digest !== layer.digest) throw mismatched(act, `its package has the digest ${digest}`, layer.digest);
  requireHeaders(act, answer, digest);
  return body;
}

/** Boundary: a registry that names another digest than that of its own bytes has mixed something up, or was tampered with. */
export function requireHeaders(act: string, answer: Answer, digest: OciDigest): void {
  for (const named of valuesOf(answer, 'docker-content-digest')) {
    if (named === digest) continue;
    const is = isOciDigest(named)
      ? `the registry names the digest ${named}`
      : 'the registry names a malformed digest';
    throw mismatched(act, is, digest);
  }
}

/** The digest that a tag stands for at the registry, without reading what it is; null: there is no such tag. */
export async function digestOfTag(
  session: RegistrySession,
  reference: Reference,
  scope: string,
): Promise<OciDigest | null> {
  const at = `/v2/${reference.name}/manifests/${reference.tag}`;
  const headers = [['accept', ACCEPTED_TYPES]] as const;
  const head = await session.request({ method: 'HEAD', at, headers, scope }, [200, 404]);
  if (head.status === 404) return null;
  const [named] = valuesOf(head, 'docker-content-digest');
  if (named !== undefined && isOciDigest(named)) return named;
  // Not every registry names the digest in its answer to HEAD.
  const request = { method: 'GET', at, headers, scope, responseBytes: OCI_LIMITS.manifestBytes } as const;
  const answer = await session.request(request, [200, 404]);
  return answer.status === 404 ? null : ociDigest(answer.body);
}
