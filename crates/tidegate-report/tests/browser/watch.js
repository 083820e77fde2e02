// Runs before anything else in the page: notes every error, warning and refused load.

window.seen = [];
addEventListener("error", (event) => seen.push(`error: ${event.message}`), true);
addEventListener("unhandledrejection", (event) => seen.push(`rejection: ${event.reason}`));
addEventListener("securitypolicyviolation", (event) => seen.push(`blocked: ${event.blockedURI}`));
for (const kind of ["error", "warn"]) {
  const told = console[kind];
  console[kind] = (...words) => { seen.push(`${kind}: ${words.join(" ")}`); told(...words); };
}
