//build: -O1 -fno-omit-frame-pointer -fno-ipa-sra
// A small search server as one meets them: it loads an index of pages,
// each into a buffer that grows, keeps what it loaded in a cache, answers
// queries on several threads, and forgets to give some of its memory back.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <pthread.h>

// Buffer is a run of bytes that doubles when it is full.
class Buffer {
public:
	Buffer() = default;
	Buffer(Buffer &&other) noexcept : data_(other.data_), used_(other.used_), room_(other.room_)
	{
		other.data_ = nullptr;
	}
	~Buffer() { free(data_); }

	__attribute__((always_inline)) void append(const void *from, size_t n)
	{
		if (used_ + n > room_)
			grow(used_ + n);
		memcpy(data_ + used_, from, n);
		used_ += n;
	}
	size_t size() const { return used_; }
	const char *data() const { return data_; }

private:
	__attribute__((always_inline)) void grow(size_t least)
	{
		size_t room = room_ ? room_ : 4096;
		while (room < least)
			room *= 2;
		data_ = static_cast<char *>(realloc(data_, room)); // never trimmed
		room_ = room;
	}

	char *data_ = nullptr;
	size_t used_ = 0, room_ = 0;
};

// Random is a small generator that gives the same numbers on every run.
class Random {
public:
	explicit Random(uint32_t seed) : state_(seed) {}
	uint32_t next() { return state_ = state_ * 1664525 + 1013904223; }
	uint32_t below(uint32_t n) { return next() / 65536 % n; }

private:
	uint32_t state_;
};

// Index holds the pages of all documents and the words found in them.
class Index {
public:
	void load(int pages);
	std::vector<int> find(const std::string &word);
	size_t bytes() const;

private:
	Buffer read_page(int number);
	void add_words(int number, const Buffer &page);

	std::vector<Buffer> cache_;
	std::multimap<std::string, int> words_;
	std::mutex lock_;
};

static const char *const vocabulary[] = {"alloc", "block", "cache", "debug", "event",
					 "frame", "graph", "heap",  "index", "join"};

__attribute__((noinline)) Buffer Index::read_page(int number)
{
	Random random(number);
	Buffer page;
	int lines = number % 8 == 7 ? 40000 : 300 + random.below(500);
	for (int i = 0; i < lines; i++) {
		char line[64];
		int n = snprintf(line, sizeof line, "%d:%d %s %s\n", number, i, vocabulary[random.below(10)],
				 vocabulary[random.below(10)]);
		page.append(line, n);
	}
	return page;
}

__attribute__((noinline)) void Index::add_words(int number, const Buffer &page)
{
	// A copy of the whole page, only to find its first words.
	std::string text(page.data(), page.size());
	for (size_t at = 0, found = 0; found < 20 && (at = text.find(' ', at)) != std::string::npos; found++) {
		size_t end = text.find_first_of(" \n", ++at);
		words_.emplace(text.substr(at, end - at), number);
	}
}

__attribute__((noinline)) void Index::load(int pages)
{
	for (int i = 0; i < pages; i++) {
		Buffer page = read_page(i);
		add_words(i, page);
		cache_.push_back(std::move(page));
	}
}

std::vector<int> Index::find(const std::string &word)
{
	std::lock_guard<std::mutex> hold(lock_);
	std::vector<int> pages;
	auto range = words_.equal_range(word);
	for (auto it = range.first; it != range.second; ++it)
		if (pages.empty() || pages.back() != it->second)
			pages.push_back(it->second);
	return pages;
}

size_t Index::bytes() const
{
	size_t total = 0;
	for (const Buffer &page : cache_)
		total += page.size();
	return total;
}

struct Answer {
	std::string word;
	std::vector<int> pages;
	char *rendered;
};

// Server answers queries; every answer is kept in its log for ever.
class Server {
public:
	explicit Server(Index &index) : index_(index) {}
	void serve(int worker, int queries);
	size_t answered();

private:
	char *render(const Answer &answer);

	Index &index_;
	std::vector<std::unique_ptr<Answer>> log_;
	std::mutex lock_;
};

__attribute__((noinline)) char *Server::render(const Answer &answer)
{
	// Room for the longest answer there could be.
	char *html = static_cast<char *>(malloc(1 << 20));
	int n = snprintf(html, 1 << 20, "<h1>%s</h1>", answer.word.c_str());
	for (int page : answer.pages)
		n += snprintf(html + n, (1 << 20) - n, "<li>page %d", page);
	return html;
}

__attribute__((noinline)) void Server::serve(int worker, int queries)
{
	std::string name = "worker-" + std::to_string(worker);
	pthread_setname_np(pthread_self(), name.c_str());
	Random random(worker);
	for (int i = 0; i < queries; i++) {
		auto answer = std::make_unique<Answer>();
		answer->word = vocabulary[random.below(10)];
		answer->pages = index_.find(answer->word);
		answer->rendered = render(*answer);
		if (i % 4 != 3)
			free(answer->rendered); // every fourth is forgotten
		std::lock_guard<std::mutex> hold(lock_);
		log_.push_back(std::move(answer));
	}
}

size_t Server::answered()
{
	std::lock_guard<std::mutex> hold(lock_);
	return log_.size();
}

int main(int argc, char **argv)
{
	int pages = argc > 1 ? atoi(argv[1]) : 24;
	Index index;
	index.load(pages);
	printf("loaded %d pages, %zu bytes\n", pages, index.bytes());

	Server server(index);
	std::vector<std::thread> workers;
	for (int i = 0; i < 3; i++)
		workers.emplace_back(&Server::serve, &server, i + 1, 8);
	for (auto &w : workers)
		w.join();
	printf("answered %zu queries\n", server.answered());
}
