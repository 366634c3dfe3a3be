type LookAlike = { readonly char: string; readonly name: string };

/**
 * Characters that a reader mistakes for `.`, `/` or `\`. Those that Unicode itself folds into one of the three (U+2024,
 * U+FF0E, U+FF0F, …) are found by folding and are not listed. Letters and digits are never listed, whatever they look
 * like: languages need them.
 */
export const LOOK_ALIKES: readonly LookAlike[] = [
  { char: '\u0701', name: 'SYRIAC SUPRALINEAR FULL STOP' },
  { char: '\u0702', name: 'SYRIAC SUBLINEAR FULL STOP' },
  { char: '\u1735', name: 'PHILIPPINE SINGLE PUNCTUATION' },
  { char: '\u2041', name: 'CARET INSERTION POINT' },
  { char: '\u2044', name: 'FRACTION SLASH' },
  { char: '\u2215', name: 'DIVISION SLASH' },
  { char: '\u2216', name: 'SET MINUS' },
  { char: '\u2571', name: 'BOX DRAWINGS LIGHT DIAGONAL UPPER RIGHT TO LOWER LEFT' },
  { char: '\u2572', name: 'BOX DRAWINGS LIGHT DIAGONAL UPPER LEFT TO LOWER RIGHT' },
  { char: '\u27cb', name: 'MATHEMATICAL RISING DIAGONAL' },
  { char: '\u27cd', name: 'MATHEMATICAL FALLING DIAGONAL' },
  { char: '\u29f5', name: 'REVERSE SOLIDUS OPERATOR' },
  { char: '\u29f8', name: 'BIG SOLIDUS' },
  { char: '\u29f9', name: 'BIG REVERSE SOLIDUS' },
  { char: '\u3002', name: 'IDEOGRAPHIC FULL STOP' },
  { char: '\ua60e', name: 'VAI FULL STOP' },
  { char: '\uff61', name: 'HALFWIDTH IDEOGRAPHIC FULL STOP' },
  { char: '\u{10a50}', name: 'KHAROSHTHI PUNCTUATION DOT' },
  { char: '\u{1d16d}', name: 'MUSICAL SYMBOL COMBINING AUGMENTATION DOT' },
  { char: '\u{1d20f}', name: 'GREEK VOCAL NOTATION SYMBOL-16' },
  { char: '\u{1d23a}', name: 'GREEK INSTRUMENTAL NOTATION SYMBOL-47' },
  { char: '\u{1d23b}', name: 'GREEK INSTRUMENTAL NOTATION SYMBOL-48' },
];
