// Elements with their contents; text is always text, never markup.

export function element(name, properties = {}, ...contents) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key in made && key !== "list") made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...contents);
  return made;
}
