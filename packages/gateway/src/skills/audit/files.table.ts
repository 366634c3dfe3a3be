/** How files that are no part of a skill begin. `at` is where; a mark is in Latin-1. */
export type FileMark = {
  readonly kind: 'program' | 'archive' | 'picture';
  /** With its article, as sentences have it. */
  readonly name: string;
  readonly mark: string;
  readonly at?: number;
};

export const FILE_MARKS: readonly FileMark[] = [
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

/** Names of files that a system runs when it is told to open them. */
export const SCRIPT_ENDINGS =
  /\.(?:sh|bash|zsh|fish|csh|ksh|command|ps1|psm1|bat|cmd|vbs|vbe|jse|wsf|hta|scpt|applescript|py|pyw|rb|pl|php|lua|reg|desktop|service|exe|dll|so|dylib|jar|msi|app|apk|lnk)$/i;

/** What begins a program or an archive even in the middle of something else, with the bytes that may follow; null: any. */
export const BURIED_MARKS: readonly {
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
