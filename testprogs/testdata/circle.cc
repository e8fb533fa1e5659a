// Objects that nothing points to but they themselves: sessions whose socket holds a callback that holds the session, and
// lists of three nodes that end where they begin.
//build: -std=c++17
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

struct Socket {
	std::function<void()> on_close;
	char buffer[200];
};

struct Session : std::enable_shared_from_this<Session> {
	std::shared_ptr<Socket> socket;
	std::string name;
	void start()
	{
		socket->on_close = [self = shared_from_this()] { self->name = "closed"; };
	}
};

struct Node {
	std::shared_ptr<Node> next;
	int values[10];
};

static void serve(int client)
{
	auto session = std::make_shared<Session>();
	session->socket = std::make_shared<Socket>();
	session->name = std::string(100 + client % 3, 'x');
	session->start();
}

static void link()
{
	auto a = std::make_shared<Node>(), b = std::make_shared<Node>(), c = std::make_shared<Node>();
	a->next = b;
	b->next = c;
	c->next = a;
}

// No circle: the nodes of a container link to it, and hold nothing.
struct Config {
	std::map<int, std::string> values;
	std::list<int> order;
	std::weak_ptr<Config> self;
};

static void configure()
{
	auto config = new std::shared_ptr<Config>(std::make_shared<Config>());
	(*config)->values[1] = std::string(100, 'v');
	(*config)->order.push_back(2);
	(*config)->self = *config;
}

// Holds itself, by a callback that is kept in it.
struct Timer {
	std::function<void()> tick;
	char state[300];
};

static void start()
{
	auto timer = std::make_shared<Timer>();
	timer->tick = [timer] { timer->state[0]++; };
	auto itself = std::make_shared<std::shared_ptr<void>>();
	*itself = itself;
}

int main()
{
	// The holes of blocks that are freed let later blocks lie below earlier ones.
	std::vector<std::unique_ptr<char[]>> holes;
	for (int i = 0; i < 200; i++)
		holes.push_back(std::make_unique<char[]>(40 + i % 3 * 120));
	for (size_t i = 0; i < holes.size(); i += 2)
		holes[i].reset();
	for (int i = 0; i < 40; i++)
		serve(i);
	for (int i = 0; i < 7; i++)
		link();
	configure();
	start();
}
