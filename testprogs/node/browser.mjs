// A headless Chromium that talks to nobody, for the scripts of tests.
import { createRequire } from 'node:module'
import path from 'node:path'

const flags = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync']

const chromium = npm => createRequire(path.join(npm, 'package.json'))('playwright-core').chromium

// serve has one browser for several scripts until standard input ends; it writes
// where they find it.
export async function serve(npm) {
  const server = await chromium(npm).launchServer({ executablePath: '/usr/bin/chromium', args: flags })
  process.stdin.on('close', () => server.close()).resume()
  console.log(server.wsEndpoint())
}

// browse opens a page in the browser that is served and gives it to use; what page
// errors it had is an error.
export async function browse(npm, url, use) {
  const browser = await chromium(npm).connect(process.env.HDB_BROWSER)
  try {
    const page = await browser.newPage({ acceptDownloads: true })
    const errors = []
    page.on('pageerror', e => errors.push(String(e)))
    await page.goto(url)
    const result = await use(page)
    if (errors.length > 0) throw new Error(errors.join('\n'))
    return result
  } finally {
    await browser.close()
  }
}
