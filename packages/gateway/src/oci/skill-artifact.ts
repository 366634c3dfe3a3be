import { toUtf8 } from '@palisade/sdk';
import { digestBytes } from '../core/digest.ts';
import { quote, safeLine } from '../core/hostile-text.ts';
import {
  anyText,
  ifPresent,
  list,
  looseObject,
  readJson,
  record,
  type Shaped,
  whole,
} from '../core/json-shape.ts';
import { accept, type Result, reject, sentenceOf } from '../core/result.ts';
import { required } from '../core/shape.ts';
import { OCI_LIMITS } from './limits.ts';
import { isOciDigest, type OciDigest } from './reference.ts';

/*
 * A skill in a registry: an image manifest of OCI 1.1 with our artifact type, the empty configuration of the specification,
 * and one layer, which is the package byte for byte. The annotations repeat what the signed package says, for those who
 * search; they are claims of the one who pushed, and are compared with the package when it is pulled. There is no time in
 * a manifest, so one package always makes the same one.
 */

export const MANIFEST_TYPE = 'application/vnd.oci.image.manifest.v1+json';
export const SKILL_ARTIFACT_TYPE = 'application/vnd.palisade.skill.v1';
export const SKILL_LAYER_TYPE = 'application/vnd.palisade.skill.package.v1+zip';
const EMPTY_TYPE = 'application/vnd.oci.empty.v1+json';

/** What a registry may answer besides; asking for them gives a better message than its refusal. */
export const ACCEPTED_TYPES = [
  MANIFEST_TYPE,
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
].join(', ');

/** The configuration that the specification has for artifacts without one. */
export const EMPTY_CONFIG = Buffer.from('{}');

/** Our annotations, by what they repeat; the others are those of the specification. */
const KEYS = {
  id: 'vnd.palisade.skill.id',
  version: 'vnd.palisade.skill.version',
  publisher: 'vnd.palisade.skill.publisher',
  signer: 'vnd.palisade.skill.signer',
} as const;

/** What a manifest says of a package. */
export type SkillClaims = Readonly<Record<keyof typeof KEYS, string>> & { readonly description: string };

export type SkillArtifact = {
  readonly claims: SkillClaims;
  readonly layer: { readonly digest: OciDigest; readonly bytes: number };
};

export function ociDigest(bytes: Uint8Array): OciDigest {
  return `sha256:${digestBytes(bytes)}`;
}

/** The manifest of a package; the same bytes for the same package. */
export function encodeManifest({ claims, layer }: SkillArtifact, fileName: string): Uint8Array {
  const own = Object.entries(KEYS).map(([name, key]) => [key, claims[name as keyof typeof KEYS]]);
  const document = {
    schemaVersion: 2,
    mediaType: MANIFEST_TYPE,
    artifactType: SKILL_ARTIFACT_TYPE,
    config: {
      mediaType: EMPTY_TYPE,
      digest: ociDigest(EMPTY_CONFIG),
      size: EMPTY_CONFIG.length,
      data: 'e30=',
    },
    layers: [
      {
        ...{ mediaType: SKILL_LAYER_TYPE, digest: layer.digest, size: layer.bytes },
        annotations: { 'org.opencontainers.image.title': fileName },
      },
    ],
    annotations: {
      'org.opencontainers.image.description': claims.description,
      'org.opencontainers.image.vendor': claims.publisher,
      'org.opencontainers.image.version': claims.version,
      ...Object.fromEntries(own),
    },
  };
  return toUtf8(JSON.stringify(document));
}

const DESCRIPTOR = looseObject({
  mediaType: required(anyText),
  digest: required(anyText),
  size: required(whole),
});
const MANIFEST = looseObject({
  schemaVersion: required(whole),
  mediaType: ifPresent(anyText),
  artifactType: ifPresent(anyText),
  config: ifPresent(DESCRIPTOR),
  layers: ifPresent(list(DESCRIPTOR)),
  manifests: ifPresent(list(looseObject({}))),
  annotations: ifPresent(record(anyText)),
});

type Manifest = Shaped<typeof MANIFEST>;

/** What is wrong with a manifest, as it follows `Cannot pull "…":`. */
export type Misfit = { readonly is: string; readonly expected: string };

const EXPECTED = 'a skill that `palisade skill push` made';

/** Reads a manifest whose digest was checked: a skill, or why it is not one. */
export function readManifest(
  bytes: Uint8Array,
  contentType: string | null,
  maxPackageBytes: number,
): Result<SkillArtifact, Misfit> {
  const limits = { maxBytes: OCI_LIMITS.manifestBytes, maxDepth: OCI_LIMITS.manifestDepth };
  const read = readJson(bytes, limits, MANIFEST);
  if (!read.ok) return misfit(`its manifest cannot be read (${sentenceOf(read.problem)})`);
  const manifest = read.value;
  const kind = kindOf(manifest);
  if (kind !== null) return misfit(kind);
  // Boundary: a manifest that is served as one thing and says that it is another is read as neither.
  if (contentType !== null && contentType !== MANIFEST_TYPE)
    return misfit(`its manifest is served as ${quote(contentType)}`);
  const [layer, ...others] = manifest.layers ?? [];
  if (layer === undefined || others.length > 0)
    return misfit(`it has ${manifest.layers?.length ?? 0} layers`, 'one layer with the package');
  if (layer.mediaType !== SKILL_LAYER_TYPE)
    return misfit(`its layer is of the type ${quote(layer.mediaType)}`, SKILL_LAYER_TYPE);
  if (!isOciDigest(layer.digest)) return misfit('its layer has no SHA-256 digest', 'one');
  if (layer.size > maxPackageBytes)
    return misfit(`its package has ${layer.size} bytes`, `at most ${maxPackageBytes}`);
  return accept({
    claims: claimsOf(manifest.annotations ?? {}),
    layer: { digest: layer.digest, bytes: layer.size },
  });
}

function kindOf({
  schemaVersion,
  mediaType,
  artifactType,
  config,
  manifests,
  layers,
}: Manifest): string | null {
  // Boundary: of a document that is both, one program reads the layers and another the index.
  if (manifests !== undefined)
    return layers === undefined ? 'it is an index of several images' : 'it is an image and an index at once';
  if (schemaVersion !== 2) return `its manifest has version ${schemaVersion}`;
  if (mediaType !== undefined && mediaType !== MANIFEST_TYPE) return `it is of the type ${quote(mediaType)}`;
  if (artifactType === SKILL_ARTIFACT_TYPE) return null;
  if (artifactType !== undefined) return `its artifact type is ${quote(artifactType)}`;
  return /(?:image|container)\S*config|container\.image/.test(config?.mediaType ?? '')
    ? 'it is an ordinary container image'
    : 'it has no artifact type';
}

/** Annotations as they are shown: lines of plain text, cut. */
function claimsOf(annotations: Readonly<Record<string, string>>): SkillClaims {
  const text = (key: string) => (Object.hasOwn(annotations, key) ? (annotations[key] ?? '') : '');
  const line = (key: string) => safeLine(text(key), OCI_LIMITS.annotationChars);
  return {
    ...{ id: line(KEYS.id), version: line(KEYS.version), publisher: line(KEYS.publisher) },
    ...{ signer: line(KEYS.signer), description: line('org.opencontainers.image.description') },
  };
}

function misfit(is: string, expected = EXPECTED) {
  return reject({ is, expected });
}
