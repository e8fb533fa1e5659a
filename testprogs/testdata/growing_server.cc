// A server whose memory grows: a session whose client has logged out stays in an index.
//build: -std=c++20
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

struct Session {
	std::string user;
	std::vector<char> buffer;
};

struct Server {
	std::map<int, std::shared_ptr<Session>> open;
	std::map<std::string, std::vector<std::shared_ptr<Session>>> by_user;

	void login(int id)
	{
		auto s = std::make_shared<Session>();
		s->user = "user " + std::to_string(id % 8);
		s->buffer.resize(16 << 10);
		open[id] = s;
		by_user[s->user].push_back(s);
	}

	void logout(int id)
	{
#ifdef FIXED
		auto &all = by_user[open[id]->user];
		std::erase(all, open[id]);
#endif
		open.erase(id);
	}
};

static Server *server;

__attribute__((noinline)) static void round_done(int round) { std::printf("round %d\n", round); }

int main()
{
	server = new Server;
	int id = 0;
	for (int round = 0; round < 5; round++) {
		int first = id;
		for (int i = 0; i < 100; i++)
			server->login(id++);
		for (int i = first; i < id; i++)
			server->logout(i);
		round_done(round);
	}
	return 0;
}
