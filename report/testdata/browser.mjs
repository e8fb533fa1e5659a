// A headless Chromium that talks to nobody, for the scripts beside this one.
import { createRequire } from 'node:module'
import path from 'node:path'

const flags = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync']

// browse opens a page and gives it to use; what page errors it had is an error.
export async function browse(npm, url, use) {
  const { chromium } = createRequire(path.join(npm, 'package.json'))('playwright-core')
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: flags })
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
