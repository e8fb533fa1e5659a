// A server whose memory is held in containers of the library: a map, a vector of pointers, a hash table of shared pointers.
//build: -std=c++17
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

struct Thumb {
	std::vector<char> pixels;
};

class Thumbs {
public:
	void add(int id)
	{
		cache_["key" + std::to_string(id)].pixels.resize(5000);
		list_.push_back(std::make_unique<Thumb>());
		list_.back()->pixels.resize(3000);
		by_id_[id] = std::make_shared<Thumb>();
		by_id_[id]->pixels.resize(2000);
	}
	// one of each, as numbers that no pointer leads from
	unsigned long cached(int id) { return hidden(cache_["key" + std::to_string(id)]); }
	unsigned long listed(int id) { return hidden(*list_[id]); }
	unsigned long known(int id) { return hidden(*by_id_[id]); }

private:
	static unsigned long hidden(Thumb &t) { return ~reinterpret_cast<unsigned long>(t.pixels.data()); }
	std::map<std::string, Thumb> cache_;
	std::vector<std::unique_ptr<Thumb>> list_;
	std::unordered_map<int, std::shared_ptr<Thumb>> by_id_;
	std::vector<std::weak_ptr<Thumb>> watched_;

public:
	unsigned long watched()
	{
		auto thumb = std::make_shared<Thumb>();
		watched_.push_back(thumb);
		return ~reinterpret_cast<unsigned long>(thumb.get());
	}
};

struct Server {
	int started = 0;
	Thumbs thumbs;
};

static Server &server()
{
	static Server instance;
	return instance;
}

void done(unsigned long cached, unsigned long listed, unsigned long known, unsigned long watched)
{
	asm volatile("" ::"r"(cached), "r"(listed), "r"(known), "r"(watched));
}

int main()
{
	for (int i = 0; i < 20; i++)
		server().thumbs.add(i);
	unsigned long cached = server().thumbs.cached(7), listed = server().thumbs.listed(8), known = server().thumbs.known(9);
	unsigned long watched = server().thumbs.watched(); // its control block, which a weak pointer keeps
	done(cached, listed, known, watched);
}
