// Uses the pages whose files are named on standard input, and writes a list of
// what is wrong with them.
import { readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { browse } from '../../../testprogs/node/browser.mjs'

const files = JSON.parse(readFileSync(0, 'utf8'))
const wrong = []
const expect = (what, got, want) => {
  const ok = want instanceof RegExp ? want.test(got) : got === want
  if (!ok) wrong.push(`${what}: ${JSON.stringify(got)}, want ${want}`)
}
const hostile = 'il;</script>'

await browse(process.argv[2], 'about:blank', async page => {
  await page.setViewportSize({ width: 1200, height: 800 })
  let asked = 0
  page.on('request', r => { if (!r.url().startsWith('file:') && !r.url().startsWith('data:')) asked++ })
  page.on('dialog', d => { wrong.push('a dialog: ' + d.message()); d.dismiss() })
  page.on('console', m => { if (m.type() === 'error') wrong.push('console: ' + m.text()) })
  const open = name => page.goto(pathToFileURL(files[name]).href)
  const text = id => page.textContent('#' + id)
  const stage = name => page.evaluate(k => document.getElementById('stage').dataset[k], name)
  const measure = word => page.textContent(`[data-measure=${word}] b`)
  // spot is a place in a row: 0 is the root's.
  const spot = async (row, part) => {
    const r = await (await page.$('#stage')).boundingBox()
    return [r.x + r.width * part, r.y + 1 + row * 19 + 9]
  }
  const point = async (row, part) => page.mouse.move(...await spot(row, part))
  const click = async (row, part) => page.mouse.click(...await spot(row, part))

  await open('flame')
  expect('scales', await text('live-key') + '; ' + await text('rss-key'), 'live bytes, at most 8.79 KiB; resident, at most 2.00 MiB, on a scale of its own')
  expect('title', await page.title(), /^prog --flag .*<\/script>.* - flame graph$/)
  expect('heading', await text('title'), /<\/script>/)
  expect('warnings', await text('warnings'), '2 calls are missing from the recording: counts are too low, live and peak are uncertain · 1 allocation failed')
  const totals = { live: '1.46 KiB', peak: '8.79 KiB', bytes: '10.7 KiB', count: '21', temporary: '4', blocks: '6', growth: '+1.46 KiB' }
  for (const [word, want] of Object.entries(totals)) expect(word, await measure(word), want)
  expect('measure first', await page.getAttribute('[data-measure=bytes]', 'aria-checked'), 'true')
  expect('detail', await text('detail'), /^all10\.7 KiB \(11,007 bytes\), 100\.0 % of all$/)

  // folded at first: main, keep
  await page.fill('#search', 'grab')
  expect('folded at the inner end', await text('matched'), '0 % matched: 0 B in 0 boxes')
  await page.fill('#search', '_start')
  expect('folded at the outer end', await text('matched'), '3.6 % matched: 400 B in 1 box')
  expect('folding is said', await text('note'), /^frames at the ends of stacks that are not the program’s are folded \(f\)/)
  await page.fill('#search', '')
  await page.evaluate(() => document.getElementById('stage').focus())
  await page.keyboard.press('f')
  expect('unfolded', (await text('note')).includes('folded'), false)

  // the largest branch: _start, main, keep, grab
  await point(2, 0.3)
  expect('tip', await text('tip'), /^main.*a\.c:9, 10\/bin\/prog10\.6 KiB \(10,900 bytes\), 99\.0 % of all$/)
  await point(4, 0.3)
  expect('tip of an inlined one', await text('tip'), /^grab\(unsigned long\).*inlined, library$/)
  await click(3, 0.3)
  expect('zoom', await text('detail'), /^keep.*10\.3 KiB \(10,500 bytes\), 95\.4 % of all/)
  expect('rows zoomed', await stage('rows'), '5')
  expect('zoom out button', await page.isDisabled('#reset'), false)
  await page.keyboard.press('Backspace')
  await page.keyboard.press('Escape')
  expect('zoomed out', await page.isDisabled('#reset'), true)
  await page.evaluate(() => document.getElementById('stage').focus())

  // search
  await page.keyboard.press('/')
  await page.keyboard.type('KEEP')
  expect('matched', await text('matched'), '95.4 % matched: 10.3 KiB in 1 box')
  await page.keyboard.press('Enter')
  expect('selected match', await text('detail'), /^keep/)
  await page.fill('#search', '/^(main|keep)$/')
  expect('matches below one another count once', await text('matched'), '99.0 % matched: 10.6 KiB in 2 boxes')
  await page.fill('#search', '/(/')
  expect('no expression', await text('matched'), '0 % matched: 0 B in 0 boxes')
  await page.fill('#search', hostile)
  expect('a foreign name is text', await text('matched'), /^0\.91 % matched: 100 B in 1 box$/)
  await page.keyboard.press('Enter')
  expect('foreign detail', await text('detail'), /il;<\/script>.*guessed by the unwinder/)
  await page.keyboard.press('Escape')

  // keyboard: down to keep, zoom
  await page.keyboard.press('Escape')
  await page.evaluate(() => document.getElementById('stage').focus())
  for (let i = 0; i < 8; i++) await page.keyboard.press('ArrowUp')
  for (let i = 0; i < 3; i++) await page.keyboard.press('ArrowDown')
  expect('keys select', await text('detail'), /^keep/)
  await page.keyboard.press('ArrowRight')
  expect('a neighbour', await text('detail'), /^0x7f0000001234.*no name known/)
  await page.keyboard.press('Enter')
  expect('keys zoom', await text('detail'), /^0x7f0000001234/)
  await page.keyboard.press('Escape')

  // by line, hidden, inverted
  const before = Number(await stage('frames'))
  await page.keyboard.press('l')
  expect('main by line', Number(await stage('frames')) > before, true)
  await page.keyboard.press('l')
  await page.keyboard.press('h')
  await page.fill('#search', 'grab')
  expect('hidden', await text('matched'), '0 % matched: 0 B in 0 boxes')
  await page.uncheck('#hide')
  await page.check('#inverted')
  await page.fill('#search', '')
  await point(1, 0.3)
  expect('inverted', await text('tip'), /^grab.*10\.3 KiB \(10,500 bytes\), 95\.4 % of all/)
  await page.check('#hide')
  await point(1, 0.3)
  expect('inverted and hidden', await text('tip'), /^keep.*95\.4 % of all/)
  await page.uncheck('#inverted')
  await page.uncheck('#hide')

  // measures
  for (const [i, [word, want]] of Object.entries(totals).slice(0, 6).entries()) {
    await page.evaluate(() => document.getElementById('stage').focus())
    await page.keyboard.press(String(i + 1))
    await page.keyboard.press('Escape')
    for (let k = 0; k < 9; k++) await page.keyboard.press('ArrowUp')
    expect('root by ' + word, (await text('detail')).startsWith('all' + want), true)
  }

  // threads
  expect('threads', await page.$$eval('#thread option', o => o.length), 5)
  await page.selectOption('#thread', { label: 'worker' })
  await page.keyboard.press('Escape')
  await page.click('[data-measure=bytes]')
  expect('of a thread', await text('detail'), /^all500 B, 100\.0 % of all$/)
  await page.selectOption('#thread', '-1')

  // time: from the first snapshot to the end, what grew and what shrank
  await page.focus('#from')
  await page.keyboard.press('ArrowRight')
  expect('growth is drawn', await page.getAttribute('[data-measure=growth]', 'aria-checked'), 'true')
  expect('growth', await measure('growth'), '−2.69 KiB')
  expect('what grew', await text('detail'), /^all300 B/)
  expect('note', await text('note'), /^grew 300 B, shrank 2\.98 KiB; drawn: what grew/)
  expect('range', await text('range'), /^1\.00 s, after event #40: 4\.15 KiB live.*→.*3\.00 s, after event #99: 1\.46 KiB live$/)
  await page.check('#shrunk')
  expect('what shrank', await text('detail'), /^all2\.98 KiB/)
  const chart = await (await page.$('#time')).boundingBox()
  await page.mouse.move(chart.x + chart.width - 7, chart.y + 30)
  await page.mouse.down()
  await page.mouse.move(chart.x + chart.width * 0.3, chart.y + 30, { steps: 4 })
  await page.mouse.up()
  expect('handles do not pass', await page.getAttribute('#to', 'aria-valuenow'), '1')
  await page.focus('#from')
  await page.keyboard.press('Home')
  await page.focus('#to')
  await page.keyboard.press('ArrowLeft')
  expect('an earlier end', await measure('growth'), '+4.15 KiB')

  // dark and light
  const color = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor)
  const light = await color()
  await page.evaluate(() => document.getElementById('stage').focus())
  await page.keyboard.press('d')
  expect('dark', await color() !== light, true)
  await page.click('#theme')
  expect('light', await color(), light)
  await page.emulateMedia({ colorScheme: 'dark' })
  await open('flame')
  expect('the system is dark', await color() !== light, true)
  await page.emulateMedia({ colorScheme: 'light' })
  await page.keyboard.press('?')
  expect('help', await page.isVisible('#help'), true)

  // the table
  await open('table')
  const column = n => page.$$eval(`tbody td:nth-child(${n})`, cells => cells.map(c => c.textContent))
  const head = id => page.click(`[data-column=${id}] button`)
  expect('sorted first', (await column(13))[0], 'keep')
  expect('own', (await column(5)).join(' '), '10.3 KiB 400 B 100 B 7 B 0 B 0 B 0 B')
  expect('sum', await page.textContent('tfoot td:nth-child(5)'), '10.7 KiB')
  expect('live blocks', (await column(11)).join(' '), '4 2 0 0 0 0 0')
  await head('name')
  expect('by name', (await column(13))[0], '0x7f0000001234')
  await head('name')
  expect('the other way', (await column(13))[0], 'main')
  await head('t2')
  expect('by total', (await column(6)).slice(0, 2).join(' '), '10.6 KiB 10.6 KiB')
  await page.fill('#search', hostile)
  expect('found', await text('shown'), '1 of 7 functions')
  await page.fill('#search', '')
  await page.check('#hide')
  expect('hidden rows', await text('shown'), '6 of 7 functions')

  await open('empty')
  expect('empty', await text('empty'), 'No allocation was recorded.')
  expect('no threads', await page.isHidden('#thread'), true)
  expect('no time', await page.isHidden('#time'), true)
  for (const key of '1234567ihldn') await page.keyboard.press(key)
  await open('emptyTable')
  expect('empty table', await text('shown'), '0 functions')
  await open('single')
  expect('one', await text('detail'), 'all1 B, 100.0 % of all')
  expect('one box', await stage('frames'), '2')
  await page.focus('#to')
  await page.keyboard.press('ArrowLeft')
  await open('singleTable')
  expect('one row', await text('shown'), '1 function')

  await open('huge')
  expect('small ones are told', await text('note'), /the page has the 20,000 largest boxes; [\d,]+ branches below them|under 2 pixels/)
  await page.fill('#search', 'function1')
  await page.check('#inverted')
  await page.click('[data-measure=growth]')
  await open('hugeTable')
  expect('rows at once', (await column(1)).length, 500)
  await page.click('#more')
  expect('more rows', (await column(1)).length, 1000)
  await open('deep')
  expect('deep', Number(await stage('rows')) > 1990, true)
  await page.evaluate(() => { document.getElementById('stage').scrollTop = 1e6; document.getElementById('stage').focus() })
  await page.fill('#search', 'recurse1')
  await page.keyboard.press('Enter')
  await page.check('#inverted')
  await page.mouse.move(600, 500)
  expect('requests', asked, 0)
})
process.stdout.write(JSON.stringify(wrong))
