// Objects that nothing points to but they themselves: sessions whose socket holds a callback that holds the session, and
// lists of three nodes that end where they begin.
//build: -std=c++17
#include <functional>
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
}
