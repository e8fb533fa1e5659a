// timeline.mjs NPM FOLDER FILE...: what the pages show below the pointer, and how;
// pictures of the first go to the folder. A list of objects as JSON.
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { browse } from '../../../testprogs/node/browser.mjs'

const [npm, folder, ...files] = process.argv.slice(2)
const shown = await browse(npm, 'about:blank', async page => {
  const shown = []
  const asked = []
  page.on('request', r => asked.push(r.url()))
  page.on('console', m => { if (m.type() === 'error') throw new Error(m.text()) })
  for (const file of files) {
    const url = pathToFileURL(file).href
    const one = { backs: [] }
    for (const colorScheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme })
      await page.goto(url)
      one.backs.push(await page.evaluate(() => getComputedStyle(document.body).backgroundColor))
      if (shown.length === 0) await page.screenshot({ path: path.join(folder, `timeline-${colorScheme}.png`), fullPage: true })
    }
    one.text = await page.evaluate(() => document.body.innerText)
    one.curves = await page.$$eval('svg', all => all.map(s => s.getAttribute('class')))
    one.marks = await page.$$eval('.heap .mark', all => all.length)
    // Where the pointer is in the curve, as a share of the time.
    const box = await page.locator('svg').first().boundingBox()
    const scale = box.width / 1000
    one.values = []
    for (const share of [0, 0.5, 0.999]) {
      await page.mouse.move(box.x + (84 + share * 900) * scale, box.y + box.height / 2)
      one.values.push(await page.locator('output').innerText())
    }
    await page.mouse.move(box.x + 10, box.y - 5)
    await page.locator('svg').first().focus()
    await page.keyboard.press('End')
    one.keyed = await page.locator('output').innerText()
    shown.push(one)
  }
  shown.push({ asked: asked.filter(u => !u.startsWith('file:')) })
  return shown
})
console.log(JSON.stringify(shown))
