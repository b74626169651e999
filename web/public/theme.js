// Runs before the first paint, so that a remembered theme does not flash. See src/app/use-theme.ts.
try {
  const theme = localStorage.getItem('helve.theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
} catch {
  // No storage: the system's theme will do.
}
