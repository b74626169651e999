// What this browser remembers. Storage may be forbidden or full, and then nothing is remembered.

export function loadSetting(name: string): string | null {
  try {
    return localStorage.getItem(`helve.${name}`);
  } catch {
    return null;
  }
}

export function saveSetting(name: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(`helve.${name}`);
    else localStorage.setItem(`helve.${name}`, value);
  } catch {
    // It works without.
  }
}
