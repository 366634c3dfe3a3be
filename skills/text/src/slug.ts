/* Latin letters with marks, in groups: what they are written as, and those that are. */
const PLAIN: StaticArray<string> = [
  'a',
  'c',
  'd',
  'e',
  'g',
  'h',
  'i',
  'j',
  'k',
  'l',
  'n',
  'o',
  'r',
  's',
  't',
  'u',
  'w',
  'y',
  'z',
  'ae',
  'oe',
  'ss',
  'th',
];
const MARKED: StaticArray<string> = [
  'àáâãäåāăąǎÀÁÂÃÄÅĀĂĄǍ',
  'çćĉċčÇĆĈĊČ',
  'ďđðĎĐÐ',
  'èéêëēĕėęěÈÉÊËĒĔĖĘĚ',
  'ĝğġģĜĞĠĢ',
  'ĥħĤĦ',
  'ìíîïĩīĭįıǐÌÍÎÏĨĪĬĮİǏ',
  'ĵĴ',
  'ķĶ',
  'ĺļľŀłĹĻĽĿŁ',
  'ñńņňÑŃŅŇ',
  'òóôõöøōŏőǒÒÓÔÕÖØŌŎŐǑ',
  'ŕŗřŔŖŘ',
  'śŝşšșŚŜŞŠȘ',
  'ţťŧțŢŤŦȚ',
  'ùúûüũūŭůűųǔÙÚÛÜŨŪŬŮŰŲǓ',
  'ŵŴ',
  'ýÿŷÝŸŶ',
  'źżžŹŻŽ',
  'æÆ',
  'œŒ',
  'ßẞ',
  'þÞ',
];

/** A text in small letters and digits with single hyphens between them, cut at a hyphen where it is too long. */
export function slugOf(text: string, mostCharacters: i32): string {
  let slug = '';
  let isApart = false;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (isCombining(unit) || isApostrophe(unit)) continue;
    const letters = plainOf(unit, text.charAt(at));
    if (letters === '') {
      isApart = slug !== '';
      continue;
    }
    const longer = isApart ? `${slug}-${letters}` : slug + letters;
    if (longer.length > mostCharacters) return cutAtHyphen(slug, isApart);
    slug = longer;
    isApart = false;
  }
  return slug;
}

function plainOf(unit: i32, letter: string): string {
  if ((unit >= 0x61 && unit <= 0x7a) || (unit >= 0x30 && unit <= 0x39)) return letter;
  if (unit >= 0x41 && unit <= 0x5a) return String.fromCharCode(unit + 0x20);
  if (unit < 0xc0) return '';
  for (let group = 0; group < MARKED.length; group += 1)
    if (MARKED[group].includes(letter)) return PLAIN[group];
  return '';
}

/** A mark that stands behind its letter. */
function isCombining(unit: i32): bool {
  return unit >= 0x300 && unit <= 0x36f;
}

/** What is inside of a word: "it's" is one. */
function isApostrophe(unit: i32): bool {
  return unit === 0x27 || unit === 0x2019;
}

/** The last word may be cut in the middle: it goes, where another one is in front of it. */
function cutAtHyphen(slug: string, isWholeWord: bool): string {
  if (isWholeWord) return slug;
  const hyphen = slug.lastIndexOf('-');
  return hyphen > 0 ? slug.slice(0, hyphen) : slug;
}
