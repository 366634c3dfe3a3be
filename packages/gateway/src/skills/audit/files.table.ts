/** The first bytes of files that do not belong in a skill. `at` is where; a mark is in Latin-1. */
type FileMark = {
  readonly kind: 'program' | 'archive' | 'picture';
  /** With its article, as sentences have it. */
  readonly name: string;
  readonly mark: string;
  readonly at?: number;
};

const FILE_MARKS: readonly FileMark[] = [
  { kind: 'program', name: 'an ELF program', mark: '\x7fELF' },
  { kind: 'program', name: 'a program for Windows', mark: 'MZ' },
  { kind: 'program', name: 'a program for macOS', mark: '\xcf\xfa\xed\xfe' },
  { kind: 'program', name: 'a program for macOS', mark: '\xce\xfa\xed\xfe' },
  { kind: 'program', name: 'a program for macOS', mark: '\xfe\xed\xfa\xcf' },
  { kind: 'program', name: 'a program for macOS', mark: '\xfe\xed\xfa\xce' },
  { kind: 'program', name: 'a program for macOS, or of Java', mark: '\xca\xfe\xba\xbe' },
  { kind: 'program', name: 'a program of Android', mark: 'dex\n' },
  { kind: 'program', name: 'LLVM bitcode', mark: 'BC\xc0\xde' },
  { kind: 'program', name: 'a shortcut of Windows', mark: 'L\0\0\0\x01\x14\x02\0' },
  {
    kind: 'program',
    name: 'a document of Office that can have macros',
    mark: '\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1',
  },
  { kind: 'archive', name: 'a ZIP archive', mark: 'PK\x03\x04' },
  { kind: 'archive', name: 'an empty ZIP archive', mark: 'PK\x05\x06' },
  { kind: 'archive', name: 'a file of gzip', mark: '\x1f\x8b\x08' },
  { kind: 'archive', name: 'a file of bzip2', mark: 'BZh' },
  { kind: 'archive', name: 'a file of xz', mark: '\xfd7zXZ\0' },
  { kind: 'archive', name: 'a file of Zstandard', mark: '(\xb5/\xfd' },
  { kind: 'archive', name: 'a 7-Zip archive', mark: "7z\xbc\xaf'\x1c" },
  { kind: 'archive', name: 'a RAR archive', mark: 'Rar!\x1a\x07' },
  { kind: 'archive', name: 'a cabinet of Windows', mark: 'MSCF\0\0\0\0' },
  { kind: 'archive', name: 'an archive of ar', mark: '!<arch>\n' },
  { kind: 'archive', name: 'a tar archive', mark: 'ustar', at: 257 },
  { kind: 'archive', name: 'a disk image', mark: 'koly' },
  { kind: 'picture', name: 'a PNG picture', mark: '\x89PNG\r\n\x1a\n' },
  { kind: 'picture', name: 'a JPEG picture', mark: '\xff\xd8\xff' },
  { kind: 'picture', name: 'a GIF picture', mark: 'GIF8' },
];

/** Names of files that a system runs when they are opened. */
const SCRIPT_ENDINGS =
  /\.(?:sh|bash|zsh|fish|csh|ksh|command|ps1|psm1|bat|cmd|vbs|vbe|jse|wsf|hta|scpt|applescript|py|pyw|rb|pl|php|lua|reg|desktop|service|exe|dll|so|dylib|jar|msi|app|apk|lnk)$/i;

/** What begins a program or an archive even in the middle of something else, with the bytes that may follow; null: any. */
const BURIED_MARKS: readonly {
  readonly name: string;
  readonly mark: string;
  readonly after: readonly (readonly number[] | null)[];
}[] = [
  { name: 'an ELF program', mark: '\x7fELF', after: [[1, 2], [1, 2], [1]] },
  { name: 'a program for Windows', mark: 'This program cannot be run in DOS mode', after: [] },
  { name: 'a program for macOS', mark: '\xcf\xfa\xed\xfe', after: [[7, 12], [0], [0], [1]] },
  {
    name: 'a ZIP archive',
    mark: 'PK\x03\x04',
    after: [[10, 20, 45, 51, 63], [0], null, [0, 8], [0, 8], [0]],
  },
];

/** The known kind of file by its first bytes; null: unknown. */
export function markOf(bytes: Uint8Array): FileMark | null {
  const head = Buffer.from(bytes.subarray(0, 300)).toString('latin1');
  return FILE_MARKS.find(({ mark, at = 0 }) => head.startsWith(mark, at)) ?? null;
}

/** The name of the program or archive that bytes begin like, if they do. */
export function programAt(bytes: Uint8Array): string | null {
  const found = markOf(bytes);
  return found === null || found.kind === 'picture' ? null : found.name;
}

/** A program or an archive anywhere in the bytes. */
export function programIn(bytes: Uint8Array): { readonly name: string; readonly at: number } | null {
  const searched = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  for (const { name, mark, after } of BURIED_MARKS) {
    const wanted = Buffer.from(mark, 'latin1');
    for (let at = searched.indexOf(wanted); at >= 0; at = searched.indexOf(wanted, at + 1)) {
      const next = at + wanted.length;
      if (after.every((allowed, i) => allowed?.includes(searched[next + i] ?? -1) ?? true))
        return { name, at };
    }
  }
  return null;
}

/** Whether a system would run the file when it is opened, by its first line or its name. */
export function isScript(path: string, bytes: Uint8Array): boolean {
  return (bytes[0] === 0x23 && bytes[1] === 0x21) || SCRIPT_ENDINGS.test(path);
}

/** Small tables of constants look like noise as well. */
const LEAST_BYTES = 4096;
/** Code, text and most tables have 4 to 7 bits in a byte; what is compressed or encrypted has close to 8. */
const DENSE_BITS = 7.5;

/** How many of the bytes are in dense blocks, whatever the data is split into. */
export function denseBytes(bytes: Uint8Array): number {
  let found = 0;
  for (let at = 0; at + LEAST_BYTES <= bytes.length; at += LEAST_BYTES)
    if (isDense(bytes.subarray(at, at + LEAST_BYTES))) found += LEAST_BYTES;
  return found;
}

/** Whether bytes look compressed or encrypted. */
export function isDense(bytes: Uint8Array): boolean {
  if (bytes.length < LEAST_BYTES) return false;
  const counts = new Uint32Array(256);
  for (const byte of bytes) counts[byte] = (counts[byte] ?? 0) + 1;
  let sum = 0;
  for (const count of counts) if (count > 0) sum += count * Math.log2(count);
  return Math.log2(bytes.length) - sum / bytes.length >= DENSE_BITS;
}
